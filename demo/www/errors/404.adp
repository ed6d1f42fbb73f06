<%
# Shown instead of the server's own answer 404; the status stays.
ns_adp_include [harbour::part header] "Nothing moored here" ""
ns_adp_include [harbour::part problem] 404 "Nothing moored here" "There is no such page, ship or document. It may have cast off long ago."
ns_adp_include [harbour::part footer]
%>
