"""Speed, as ratios to a calibration loop in C and to the Linux that runs here: `python -m benchmarks`."""
