// Rotates a web key with the generated client, and reads what errors say. The test knows what it prints.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	// The schema of protovalidate, as it is published: it must not clash with what was generated.
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	webkeyv2beta "keyturn.internal/proto/iam/webkey/v2beta"
)

// Packages of all services, which must not clash with each other.
import (
	_ "keyturn.internal/proto/iam/audit/v2"
	_ "keyturn.internal/proto/iam/project/v2"
	_ "keyturn.internal/proto/iam/user/v2"
	_ "keyturn.internal/proto/iam/webkey/v2"
)

func main() {
	log.SetFlags(0)
	connection, err := grpc.NewClient(os.Getenv("KEYTURN_TARGET"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer connection.Close()
	keys := webkeyv2beta.NewWebKeyServiceClient(connection)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+os.Getenv("KEYTURN_TOKEN"))

	var old string
	for keyId, state := range states(ctx, keys) {
		if state == webkeyv2beta.State_STATE_ACTIVE {
			old = keyId
		}
	}

	ecdsa := &webkeyv2beta.ECDSA{Curve: webkeyv2beta.EcdsaCurve_ECDSA_CURVE_P256}
	created, err := keys.CreateWebKey(ctx, &webkeyv2beta.CreateWebKeyRequest{
		Config: &webkeyv2beta.WebKeyConfig{Config: &webkeyv2beta.WebKeyConfig_Ecdsa{Ecdsa: ecdsa}},
	})
	check(err)
	fmt.Println("created", created.Details.State, created.Details.Algorithm)

	activated, err := keys.ActivateWebKey(ctx, &webkeyv2beta.ActivateWebKeyRequest{KeyId: created.Details.KeyId})
	check(err)
	fmt.Println("activated", activated.Details.State)

	listed := states(ctx, keys)
	fmt.Println("listed", listed[old], listed[created.Details.KeyId])

	_, refused := keys.DeleteWebKey(ctx, &webkeyv2beta.DeleteWebKeyRequest{KeyId: created.Details.KeyId})
	for _, detail := range status.Convert(refused).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			fmt.Println("refused", info.Reason, info.Domain)
		}
	}

	_, invalid := keys.DeleteWebKey(ctx, &webkeyv2beta.DeleteWebKeyRequest{})
	for _, detail := range status.Convert(invalid).Details() {
		switch detail := detail.(type) {
		case *errdetails.BadRequest:
			fmt.Println("invalid", detail.FieldViolations[0].Field)
		case *validate.Violations:
			// The same for those who use protovalidate.
			if rule := detail.Violations[0].GetRuleId(); rule != "string.min_len" {
				log.Fatalf("another rule: %s", rule)
			}
		case error:
			log.Fatalf("a detail that cannot be read: %v", detail)
		}
	}

	// The last call: the token was signed by the key that is deleted.
	deleted, err := keys.DeleteWebKey(ctx, &webkeyv2beta.DeleteWebKeyRequest{KeyId: old})
	check(err)
	if deleted.Details.ChangeDate.IsValid() {
		fmt.Println("deleted")
	}
}

func states(ctx context.Context, keys webkeyv2beta.WebKeyServiceClient) map[string]webkeyv2beta.State {
	listed, err := keys.ListWebKeys(ctx, &webkeyv2beta.ListWebKeysRequest{})
	check(err)
	states := map[string]webkeyv2beta.State{}
	for _, key := range listed.WebKeys {
		states[key.KeyId] = key.State
	}
	return states
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
