<?php

// Rotates a web key with the generated messages, and reads what errors say. The test knows what it prints.
//
// The calls are made with the Connect protocol: gRPC for PHP is an extension that few have, and this needs none but curl.

use Google\Rpc\BadRequest;
use Google\Rpc\ErrorInfo;
use Keyturn\Iam\Webkey\V2beta\ActivateWebKeyRequest;
use Keyturn\Iam\Webkey\V2beta\ActivateWebKeyResponse;
use Keyturn\Iam\Webkey\V2beta\CreateWebKeyRequest;
use Keyturn\Iam\Webkey\V2beta\CreateWebKeyResponse;
use Keyturn\Iam\Webkey\V2beta\DeleteWebKeyRequest;
use Keyturn\Iam\Webkey\V2beta\DeleteWebKeyResponse;
use Keyturn\Iam\Webkey\V2beta\ECDSA;
use Keyturn\Iam\Webkey\V2beta\EcdsaCurve;
use Keyturn\Iam\Webkey\V2beta\ListWebKeysRequest;
use Keyturn\Iam\Webkey\V2beta\ListWebKeysResponse;
use Keyturn\Iam\Webkey\V2beta\State;
use Keyturn\Iam\Webkey\V2beta\WebKeyConfig;

// What Composer does for those who have it.
spl_autoload_register(function (string $class): void {
    $file = stream_resolve_include_path(str_replace('\\', '/', $class) . '.php');
    if ($file !== false) require $file;
});

/** A refused call. */
final class Refusal extends Exception
{
    /** @param array<string, string> $details The bytes of each detail by its type. */
    public function __construct(string $message, public readonly array $details)
    {
        parent::__construct($message);
    }
}

/** Calls a method, and merges what it answers into the response. */
function call(string $method, object $request, object $response): object
{
    $curl = curl_init('http://' . getenv('KEYTURN_TARGET') . '/iam.webkey.v2beta.WebKeyService/' . $method);
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => ['Content-Type: application/proto', 'Authorization: Bearer ' . getenv('KEYTURN_TOKEN')],
        CURLOPT_POSTFIELDS => $request->serializeToString(),
        CURLOPT_RETURNTRANSFER => true,
    ]);
    $body = curl_exec($curl);
    if ($body === false) throw new Exception(curl_error($curl));
    if (curl_getinfo($curl, CURLINFO_RESPONSE_CODE) !== 200) {
        $error = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
        $details = array_column($error['details'] ?? [], 'value', 'type');
        throw new Refusal($error['message'] ?? $error['code'], array_map('base64_decode', $details));
    }
    $response->mergeFromString($body);
    return $response;
}

/** @return array<string, int> */
function states(): array
{
    $states = [];
    foreach (call('ListWebKeys', new ListWebKeysRequest(), new ListWebKeysResponse())->getWebKeys() as $key) {
        $states[$key->getKeyId()] = $key->getState();
    }
    return $states;
}

function delete(string $keyId): DeleteWebKeyResponse
{
    return call('DeleteWebKey', new DeleteWebKeyRequest(['key_id' => $keyId]), new DeleteWebKeyResponse());
}

/** @return array<string, string> */
function detailsOfDeleting(string $keyId): array
{
    try {
        delete($keyId);
    } catch (Refusal $refusal) {
        return $refusal->details;
    }
    throw new Exception('the call was not refused');
}

$old = array_search(State::STATE_ACTIVE, states());

$config = new WebKeyConfig(['ecdsa' => new ECDSA(['curve' => EcdsaCurve::ECDSA_CURVE_P256])]);
$created = call('CreateWebKey', new CreateWebKeyRequest(['config' => $config]), new CreateWebKeyResponse())->getDetails();
echo 'created ', State::name($created->getState()), ' ', $created->getAlgorithm(), "\n";

$new = $created->getKeyId();
$activation = new ActivateWebKeyRequest(['key_id' => $new]);
$activated = call('ActivateWebKey', $activation, new ActivateWebKeyResponse())->getDetails();
echo 'activated ', State::name($activated->getState()), "\n";

$states = states();
echo 'listed ', State::name($states[$old]), ' ', State::name($states[$new]), "\n";

$info = new ErrorInfo();
$info->mergeFromString(detailsOfDeleting($new)['google.rpc.ErrorInfo']);
echo 'refused ', $info->getReason(), ' ', $info->getDomain(), "\n";

$badRequest = new BadRequest();
$badRequest->mergeFromString(detailsOfDeleting('')['google.rpc.BadRequest']);
echo 'invalid ', $badRequest->getFieldViolations()[0]->getField(), "\n";

// The last call: the token was signed by the key that is deleted.
if (delete($old)->getDetails()->hasChangeDate()) echo "deleted\n";
