<%
# Shown instead of the server's own answer 403; the status stays.
ns_adp_include [harbour::part header] "That was refused" ""
ns_adp_include [harbour::part problem] 403 "That was refused" "The form did not come from a page of this session. Go back, reload the page and send it again."
ns_adp_include [harbour::part footer]
%>
