# Serves the verifier on loopback, as the test expects it.
require "webrick"
require_relative "verifier"

$stdout.sync = true
verifier = Verifier.new
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: 0, AccessLog: [], Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN)
)
server.mount_proc("/verify") do |request, response|
  verifier.verify(request.body)
  response.body = "verified"
rescue StandardError => e
  response.status = 401
  response.body = "#{e.class}: #{e.message}"
end
trap("TERM") { server.shutdown }
puts "ready #{server.listeners.first.addr[1]}"
server.start
