package issueruri;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerInitializedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** A resource server that is configured by nothing but properties, on loopback, as the test expects it. */
@SpringBootApplication
@RestController
public class Application {

  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @PostMapping("/verify")
  String verify() {
    return "verified";
  }

  @EventListener
  void ready(ServletWebServerInitializedEvent event) {
    System.out.println("ready " + event.getWebServer().getPort());
  }
}
