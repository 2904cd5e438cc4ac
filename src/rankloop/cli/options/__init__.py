"""What commands share: inputs, outputs, options."""
