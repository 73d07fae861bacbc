# Hello on Rails: one controller in API mode, none of Rails' other parts, nothing logged.
require "rails"
require "action_controller/railtie"

class Hello < Rails::Application
  config.api_only = true
  config.eager_load = true
  config.consider_all_requests_local = false
  config.logger = Logger.new(nil)
  config.secret_key_base = "not a secret: nothing is signed here" * 2
  config.hosts.clear
  # Rails would look for its folders where it was started.
  config.root = __dir__

  routes.append { root to: "hello#show" }
end

class HelloController < ActionController::API
  def show
    render plain: "hello world"
  end
end

Hello.initialize!
run Hello
