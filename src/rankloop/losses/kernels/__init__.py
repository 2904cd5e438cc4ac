"""The arithmetic that losses share on the CPU, compiled."""
