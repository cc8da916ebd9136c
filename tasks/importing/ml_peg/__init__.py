"""Importers for the layouts of ML-PEG's benchmarks."""
