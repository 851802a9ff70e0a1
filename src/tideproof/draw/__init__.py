"""Pictures: plain numbers in, a picture out. The only place that knows matplotlib; it computes nothing."""
