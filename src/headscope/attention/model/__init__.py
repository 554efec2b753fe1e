"""Where tiles come from: a model whose attention is tapped while it reads, with gradients where they are needed."""
