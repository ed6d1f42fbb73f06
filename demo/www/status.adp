<%
set status [harbour::status::collect]
set watch [dict get $status watch]
set rounds [lreverse [harbour::db::rows {select at, in_port from round order by at desc limit 60}]]
ns_adp_include [harbour::part header] Status status
%>
<h1>Status</h1>
<p class="count" data-test="live" data-live="/api/status"><span class="dot" aria-hidden="true"></span> <span data-live-text>As of <%= [ns_fmttime [ns_time] %H:%M:%S] %></span></p>
<dl class="figures">
<div class="card"><dt>Up for</dt><dd data-value="uptimetext" data-test="uptime"><%= [harbour::duration [dict get $status uptime]] %></dd></div>
<div class="card"><dt>Requests</dt><dd data-value="requests" data-test="requests"><%= [dict get $status requests] %></dd></div>
<div class="card"><dt>Memory</dt><dd data-value="memorytext" data-test="memory"><%= [harbour::bytes [dict get $status memory]] %></dd></div>
<div class="card"><dt>Threads</dt><dd data-value="threads" data-test="threads"><%= [llength [dict get $status threads]] %></dd></div>
</dl>
<section class="card">
<h2>Requests a second</h2>
<svg class="spark" viewBox="0 0 300 60" preserveAspectRatio="none" role="img" aria-label="Requests a second over the last two minutes" data-spark><path class="line" d="M0 59 H300"/></svg>
</section>
<div class="columns">
<section class="card"><h2>Connection threads</h2>
<table class="pairs"><tbody>
<tr><th scope="row">Running now</th><td data-value="connthreads"><%= [dict get $status connthreads] %></td></tr>
<tr><th scope="row">Idle</th><td data-value="idle"><%= [dict get $status idle] %></td></tr>
<tr><th scope="row">At most</th><td><%= [dict get $status maximum] %></td></tr>
<tr><th scope="row">Requests in work</th><td data-value="active"><%= [dict get $status active] %></td></tr>
<tr><th scope="row">Requests waiting</th><td data-value="waiting"><%= [dict get $status waiting] %></td></tr>
<tr><th scope="row">Pools</th><td><%= [harbour::h [join [lmap pool [dict get $status pools] {expr {$pool eq "" ? "default" : $pool}}] ", "]] %></td></tr>
</tbody></table></section>
<section class="card" data-test="watch"><h2>Harbour watch</h2>
<p class="soft">A scheduled task counts ships every <%= [harbour::setting watchseconds] %> seconds and tidies up.</p>
<table class="pairs"><tbody>
<tr><th scope="row">Rounds</th><td data-value="watch.rounds" data-test="watch-rounds"><%= [dict get $watch rounds] %></td></tr>
<tr><th scope="row">Last round</th><td data-value="watch.text" data-test="watch-at"><%= [harbour::moment [dict get $watch at]] %></td></tr>
<tr><th scope="row">Why</th><td data-test="watch-why"><%= [harbour::h [dict get $watch why]] %></td></tr>
<tr><th scope="row">Took</th><td><%= [format %.1f [expr {[dict get $watch taken] / 1000.0}]] %> ms</td></tr>
<tr><th scope="row">In port</th><td><%= [dict get $watch in_port] %> of <%= [dict get $watch berths] %></td></tr>
<tr><th scope="row">Longest here</th><td><%
set longest [dict get $watch longest]
if {$longest ne ""} {
    ns_adp_puts -nonewline "<a href=\"/ships/[dict get $longest id]\">[harbour::h [dict get $longest name]]</a>"
}
%></td></tr>
<%
if {[dict get $watch error] ne ""} {
    ns_adp_puts "<tr><th scope=\"row\">Problem</th><td>[harbour::h [dict get $watch error]]</td></tr>"
}
%>
</tbody></table>
<%
if {[llength $rounds] > 1} {
    set most 1
    foreach round $rounds { set most [expr {max($most, [dict get $round in_port])}] }
    set step [expr {300.0 / [llength $rounds]}]
    ns_adp_puts "<svg class=\"bars\" viewBox=\"0 0 300 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Ships in port at the last [llength $rounds] rounds\">"
    set x 0
    foreach round $rounds {
        set height [expr {38.0 * [dict get $round in_port] / $most}]
        ns_adp_puts -nonewline [format {<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>} $x [expr {40 - $height}] [expr {$step * 0.8}] $height]
        set x [expr {$x + $step}]
    }
    ns_adp_puts "</svg>"
}
%>
<form method="post" action="/watch/round"><%= [harbour::session::token_field] %><button class="quiet" data-test="watch-now">Make a round now</button></form>
</section>
<section class="card"><h2>Server</h2>
<table class="pairs"><tbody>
<%= [harbour::status::pairs_table [list Server "[dict get $status name] [dict get $status version]" Tcl [dict get $status tcl] Host [dict get $status host]]] %>
<tr><th scope="row">Process</th><td><%= [dict get $status pid] %></td></tr>
<%= [harbour::status::pairs_table [list "Scheduled tasks" [dict get $status scheduled]]] %>
</tbody></table></section>
<section class="card"><h2>Since the start</h2>
<table class="pairs"><tbody><%= [harbour::status::pairs_table [dict get $status stats]] %></tbody></table></section>
<%
foreach driver [dict get $status drivers] {
    ns_adp_puts "<section class=\"card\"><h2>Driver</h2><table class=\"pairs\"><tbody>[harbour::status::pairs_table $driver]</tbody></table></section>"
}
dict for {cache stats} [dict get $status caches] {
    ns_adp_puts "<section class=\"card\"><h2>Cache [harbour::h $cache]</h2><table class=\"pairs\"><tbody>[harbour::status::pairs_table $stats]</tbody></table></section>"
}
%>
</div>
<section class="card"><h2>Threads</h2>
<ul class="tags"><%
foreach name [lsort [dict get $status threads]] {
    ns_adp_puts -nonewline "<li>[harbour::h $name]</li>"
}
%></ul></section>
<% ns_adp_include [harbour::part footer] %>
