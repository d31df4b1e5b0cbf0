package interop;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.MalformedURLException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.JwtClaimNames;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;

@Configuration
class SecurityConfiguration {

  /** Every request needs a token. */
  @Bean
  SecurityFilterChain security(HttpSecurity http) throws Exception {
    return http
        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
        .build();
  }

  @Bean
  JwtDecoder jwtDecoder(
      @Value("${ISSUER}") String issuer,
      @Value("${AUDIENCE}") String audience,
      @Value("${CACHE_SECONDS:300}") long cacheSeconds)
      throws MalformedURLException {
    // The cache of Nimbus keeps the key set for 5 minutes by default, and fetches it for an unknown key twice in 30 s at most.
    JWKSource<SecurityContext> keys =
        JWKSourceBuilder.create(URI.create(issuer + "/.well-known/openid-configuration/jwks").toURL())
            .cache(cacheSeconds * 1000, 15_000)
            .refreshAheadCache(false)
            .rateLimited(cacheSeconds * 100)
            .build();
    DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
    processor.setJWSKeySelector(
        new JWSVerificationKeySelector<>(
            Set.of(
                JWSAlgorithm.RS256, JWSAlgorithm.RS384, JWSAlgorithm.RS512,
                JWSAlgorithm.ES256, JWSAlgorithm.ES384, JWSAlgorithm.ES512),
            keys));
    processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
    // The validators below do that, with messages.
    processor.setJWTClaimsSetVerifier((claims, context) -> {});

    JwtTimestampValidator dates = new JwtTimestampValidator(Duration.ofSeconds(5));
    dates.setAllowEmptyExpiryClaim(false);
    NimbusJwtDecoder decoder = new NimbusJwtDecoder(processor);
    decoder.setJwtValidator(
        new DelegatingOAuth2TokenValidator<>(
            dates,
            new JwtIssuerValidator(issuer),
            new JwtClaimValidator<List<String>>(
                JwtClaimNames.AUD, found -> found != null && found.contains(audience))));
    return decoder;
  }
}
