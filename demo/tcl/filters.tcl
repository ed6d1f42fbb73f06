# What happens around every request.

# postauth: a number to find the request by, and what browsers should be strict about.
proc ::harbour::filter_headers {args} {
    set headers [ns_conn outputheaders]
    set number [nsv_incr harbour_requests count]
    ns_set update $headers X-Request-Id [format %08x-%x [ns_info boottime] $number]
    ns_set update $headers X-Content-Type-Options nosniff
    ns_set update $headers Referrer-Policy same-origin
    ns_set update $headers Content-Security-Policy \
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    return filter_ok
}

# postauth on POST: a form from elsewhere is refused. JSON needs no token: another site's page
# cannot send it without this server's consent.
proc ::harbour::filter_form {args} {
    set type [string tolower [ns_set iget [ns_conn headers] content-type]]
    if {[string match "/api/*" [ns_conn url]]} {
        if {![string match "application/json*" $type]} {
            ::harbour::api::problem 415 "send application/json"
            return filter_return
        }
        return filter_ok
    }
    if {[ns_conn url] ne "/theme" && ![::harbour::session::token_fits]} {
        ns_log notice "harbour: form without its token: [ns_conn url]"
        ns_returnforbidden
        return filter_return
    }
    return filter_ok
}

# trace: after the answer went out, count what was asked for.
proc ::harbour::filter_count {args} {
    nsv_incr harbour_requests [ns_conn method]
    return filter_ok
}
