import { Failure } from '#common/errors.ts'

const UNSIGNED = 'no trusted CA has signed it: ca_file names a further CA bundle'
/** By the codes of Node and OpenSSL. */
const CONTRADICTED: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  CERT_REVOKED: 'it was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNSIGNED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another name',
  SELF_SIGNED_CERT_IN_CHAIN: UNSIGNED,
  UNABLE_TO_GET_ISSUER_CERT: UNSIGNED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNSIGNED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNSIGNED,
}
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection broke',
  EAI_AGAIN: 'its name cannot be looked up now',
  ENOTFOUND: 'there is no such name',
  EPROTO: 'there is no TLS, or none that both sides know',
  ERR_SSL_WRONG_VERSION_NUMBER: 'there is no TLS',
  UND_ERR_CONNECT_TIMEOUT: 'it cannot be reached in time',
  UND_ERR_HEADERS_TIMEOUT: 'it has not answered in time',
  UND_ERR_BODY_TIMEOUT: 'its answer stopped',
  UND_ERR_SOCKET: 'the connection broke',
}

/** Of a cloud at `where` that gave no whole answer: `unavailable`, and for its operators why. */
export function noAnswer(cause: unknown, where: string): Failure {
  const { code = '', message = String(cause) } = cause as { code?: string; message?: string }
  const disbelieved = CONTRADICTED[code]
  if (disbelieved !== undefined)
    return new Failure('unavailable', 'The certificate of the nested cloud is not trusted.', {
      cause,
      detail: `${where}: ${disbelieved}`,
    })
  return new Failure('unavailable', 'The nested cloud does not answer.', {
    cause,
    detail: `${where}: ${REASONS[code] ?? message}`,
  })
}
