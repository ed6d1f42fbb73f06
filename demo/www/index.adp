<%
set berths [harbour::ships::berths]
set free 0
foreach berth $berths { if {[dict get $berth ship] eq ""} { incr free } }
set taken [expr {[llength $berths] - $free}]
set now [ns_time]
set week [expr {$now - 7 * 86400}]
set figures [harbour::db::row {
    select count(*) as arrivals, coalesce(sum(tonnes), 0) as tonnes from visit where arrived > #week
}]
set latest [harbour::db::rows {
    select v.id, v.arrived, v.origin, v.cargo, s.id as ship, s.name, s.kind, b.code
      from visit v join ship s on s.id = v.ship join berth b on b.id = v.berth
     order by v.arrived desc, v.id desc limit 8
}]
set turn [harbour::tides::next]
ns_adp_include [harbour::part header] Harbour home
%>
<section class="hero">
<div>
<h1>Who is in port?</h1>
<p>The logbook of a small harbour: <%= $taken %> of <%= [llength $berths] %> berths are taken<%
if {$turn ne ""} {
    ns_adp_puts -nonewline ", and the next [lindex $turn 0] water is at [ns_fmttime [lindex $turn 1] %H:%M]"
}
%>.</p>
<p><a class="button" href="/visits/new" data-test="log-arrival">Log an arrival</a> <a class="button quiet" href="/ships">Find a ship</a></p>
</div>
</section>
<dl class="figures">
<div class="card"><dt>In port</dt><dd data-test="figure-in-port"><%= $taken %></dd></div>
<div class="card"><dt>Free berths</dt><dd data-test="figure-free"><%= $free %></dd></div>
<div class="card"><dt>Arrivals, 7 days</dt><dd data-test="figure-arrivals"><%= [dict get $figures arrivals] %></dd></div>
<div class="card"><dt>Tonnes, 7 days</dt><dd><%= [harbour::thousands [dict get $figures tonnes]] %></dd></div>
</dl>
<section aria-labelledby="berths">
<h2 id="berths">Berths</h2>
<%
set shown ""
foreach berth $berths {
    dict with berth {}
    if {$quay ne $shown} {
        if {[info exists opened]} { ns_adp_puts "</ul>" }
        set shown $quay
        set opened 1
        ns_adp_puts "<h3>[harbour::h $quay]</h3><ul class=\"berths\">"
    }
    set label "<span class=\"code\">[harbour::h $code]</span>"
    if {$ship eq ""} {
        ns_adp_puts "<li class=\"berth free\" data-test=\"berth-[harbour::h $code]\">$label<strong>free</strong><small>$length m long, $depth m deep</small></li>"
    } else {
        ns_adp_puts "<li class=\"berth\" data-test=\"berth-[harbour::h $code]\">$label<a href=\"/ships/$ship\">[harbour::h $name]</a>[harbour::silhouette $ship_length $length]<small>[harbour::h $kind], $ship_length m, for [harbour::duration [expr {$now - $arrived}]]</small></li>"
    }
}
if {[info exists opened]} { ns_adp_puts "</ul>" }
%>
</section>
<section aria-labelledby="latest">
<h2 id="latest">Latest arrivals</h2>
<div class="scroll"><table data-test="latest">
<thead><tr><th scope="col">Ship</th><th scope="col">Berth</th><th scope="col">Arrived</th><th scope="col">From</th><th scope="col">Cargo</th></tr></thead>
<tbody>
<%
foreach visit $latest {
    dict with visit {
        ns_adp_puts "<tr><td><a href=\"/ships/$ship\">[harbour::h $name]</a></td><td>[harbour::h $code]</td><td>[harbour::time_tag $arrived]</td><td>[harbour::h $origin]</td><td>[harbour::h $cargo]</td></tr>"
    }
}
%>
</tbody></table></div>
<p><a href="/visits">The whole logbook</a></p>
</section>
<% ns_adp_include [harbour::part footer] %>
