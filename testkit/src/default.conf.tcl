# The configuration of a test that says nothing else; see builder.rs.
ns_section ns/parameters {
    ns_param home       @HOME@
    ns_param tcllibrary @HOME@/modules
    ns_param logdir     @HOME@/log
    ns_param systemlog  /dev/stderr
    ns_param pidfile    @HOME@/nsd.pid
    ns_param tmpdir     @HOME@/tmp
}
ns_section ns/servers {
    ns_param default "Server of a test"
}
ns_section ns/modules {
    ns_param nssock nssock
}
ns_section ns/module/nssock {
    ns_param address       127.0.0.1
    ns_param port          @PORT@
    ns_param hostname      localhost
    ns_param defaultserver default
}
ns_section ns/module/nssock/servers {
    ns_param default localhost
}
ns_section ns/server/default {
    ns_param serverdir  @HOME@
    ns_param minthreads 1
    ns_param maxthreads 4
}
ns_section ns/server/default/fastpath {
    ns_param pagedir pages
}
ns_section ns/server/default/tcl {
    ns_param library @HOME@/lib
}
ns_section ns/server/default/adp {
    ns_param map /*.adp
}
