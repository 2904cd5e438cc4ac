"""SVMLight ranking files, the format of LETOR, MSLR, Yahoo and Istella: readers, writers, kernels."""
