//! HTTP without I/O: heads, bodies, ranges, forms, cookies, URLs.
