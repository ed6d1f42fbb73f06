<%
# Shown instead of the server's own answer 500; the status stays.
ns_adp_include [harbour::part header] "We ran aground" ""
ns_adp_include [harbour::part problem] 500 "We ran aground" "Something went wrong on our side. The server's log says what."
ns_adp_include [harbour::part footer]
%>
