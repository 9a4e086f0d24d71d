import { readFileSync } from 'node:fs'
import { errorChain, Failure } from '#common/errors.ts'
import type { CloudConfig } from './cloud-config.ts'

export interface SentRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** How requests reach a cloud. Throws `unavailable` when nothing answers. */
export type Transport = (url: string, request: SentRequest) => Promise<Response>

/**
 * Node's own `fetch` unless the cloud's certificate needs more than that offers: undici takes as long to load as
 * everything else together.
 */
export async function transportTo(cloud: CloudConfig): Promise<Transport> {
  const { caFile, isInsecure } = cloud
  if (caFile === undefined && !isInsecure) return answering((url, request) => fetch(url, request))
  const undici = await import('undici')
  const ca = caFile === undefined ? undefined : readCertificates(caFile)
  const connect = { rejectUnauthorized: !isInsecure, ...(ca === undefined ? {} : { ca }) }
  const dispatcher = new undici.Agent({ connect })
  return answering(
    async (url, request) =>
      (await undici.fetch(url, { ...request, dispatcher })) as unknown as Response,
  )
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Failure('invalid', `The certificates in ${file} (cacert) cannot be read`, { cause })
  }
}

function answering(send: Transport): Transport {
  return async (url, request) => {
    try {
      return await send(url, request)
    } catch (error) {
      throw unanswered(new URL(url).origin, error instanceof Error ? (error.cause ?? error) : error)
    }
  }
}

/** Codes of Node for certificates that it cannot verify; Node's own texts name options of Node. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'a certificate of an unknown CA',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'a certificate of an unknown CA',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'a certificate of an unknown CA',
}

function unanswered(origin: string, cause: unknown): Failure {
  const untrusted = UNTRUSTED[String((cause as { readonly code?: unknown } | null)?.code)]
  return new Failure(
    'unavailable',
    untrusted === undefined
      ? `${origin} does not answer (${errorChain(cause)}). On its machine, ./weir status shows whether it runs.`
      : `${origin} has ${untrusted}. To trust it, name its CA bundle: --os-cacert FILE, or cacert in clouds.yaml.`,
  )
}
