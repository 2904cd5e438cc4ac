"""Trees and networks trained by several workers."""
