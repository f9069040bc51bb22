"""How close results come to exact arithmetic: inputs, exact values, libraries, and the page that tells."""
