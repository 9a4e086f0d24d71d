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
      const why = errorChain(error instanceof Error ? (error.cause ?? error) : error)
      throw new Failure(
        'unavailable',
        `${new URL(url).origin} does not answer (${why}). Is it up? On its machine: ./weir status`,
      )
    }
  }
}
