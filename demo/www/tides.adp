<%
set days [ns_queryget days 3]
if {$days ni {1 3 7 14}} { set days 3 }
set table [harbour::tides::table $days]
set cached [dict get $table cached]
ns_adp_include [harbour::part header] Tides tides
%>
<h1>Tides</h1>
<form class="search card" method="get" action="/tides">
<div class="field"><label for="days">Table for</label><select id="days" name="days" data-test="days"><%= [harbour::options {1 "One day" 3 "Three days" 7 "A week" 14 "Two weeks"} $days] %></select></div>
<button data-test="days-submit">Show</button>
</form>
<section class="card">
<%= [harbour::tides::drawing $table] %>
<p class="axis"><span><%= [harbour::moment [dict get $table begin]] %></span><span><%= [harbour::moment [expr {[dict get $table begin] + $days * 86400}]] %></span></p>
<p class="soft">Lines at 0 to 4 metres above chart datum.</p>
</section>
<section class="card cost" data-test="cost">
<p><span class="badge<%= [expr {$cached ? "" : " sea"}] %>" data-test="cache-state"><%= [expr {$cached ? "from the cache" : "computed now"}] %></span>
<span data-test="evaluations"><%= [harbour::thousands [dict get $table evaluations]] %></span> heights were computed in <strong data-test="took"><%= [dict get $table took] %> ms</strong>; this page waited <strong data-test="waited"><%= [dict get $table waited] %> ms</strong> for them.</p>
<form method="post" action="/tides/forget"><%= [harbour::session::token_field] %><input type="hidden" name="days" value="<%= $days %>"><button class="quiet" data-test="forget">Forget and compute afresh</button></form>
</section>
<div class="scroll"><table data-test="turns">
<thead><tr><th scope="col">Water</th><th scope="col">When</th><th scope="col" class="number">Height</th></tr></thead>
<tbody>
<%
foreach turn [dict get $table turns] {
    lassign $turn kind at metres
    ns_adp_puts "<tr><td>$kind</td><td>[harbour::time_tag $at]</td><td class=\"number\">$metres m</td></tr>"
}
%>
</tbody></table></div>
<% ns_adp_include [harbour::part footer] %>
