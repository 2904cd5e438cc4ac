"""What evaluation and comparison return, and the statistics behind them."""
