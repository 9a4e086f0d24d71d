import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '#common/clock.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { ImageId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { CertificateWatch } from '#common/tls/certificate-watch.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { checked } from '#openapi/wire/checked.ts'
import { ImageMaking } from '#openapi/wire/instance.ts'
import { checkPass } from '../images/cache-pass.ts'
import { type FoundInCache, MADE_OF, type Preloaded } from '../images/cache-place.ts'
import type { CacheMetrics } from './cache-metrics.ts'
import type { CellImageCache } from './cell-image-cache.ts'

const PATH = /^\/v1\/images\/([0-9a-f-]{36})\/([0-9a-f]{64})\/(\d{1,15})(\/state)?$/
const PINS =
  /^\/v1\/pins\/([0-9a-f-]{36})(?:\/([0-9a-f-]{36})\/([0-9a-f]{64})\/(\d{1,15})|\?except=([0-9a-f]{64}))?$/
const RANGE = /^bytes=(\d{1,15})-$/
/** Shorter than hosts wait for an answer. */
const WAIT_MS = 10_000
const CONNECTIONS_MAX = 4_096
const READ_CHUNK_BYTES = 256 * 1024

export interface ServedCache extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string
}

export interface CacheServerParts {
  readonly cache: CellImageCache
  readonly metrics: CacheMetrics
  readonly key: KeyObject
  /** Undefined: it serves without encryption. */
  readonly certificate: CertificateWatch | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Afterwards hosts with a pass read images there. Throws `unavailable` for an address that cannot be listened on. */
export async function serveImageCache(
  parts: CacheServerParts,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<ServedCache> {
  const server = serverOf(parts, (request, response) => {
    answer(parts, request, response).catch((error: unknown) => {
      parts.log.warn(errorFields(error), 'an image was not sent to a host')
      response.destroy()
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  try {
    await once(server.listen(port, address), 'listening')
  } catch (cause) {
    const why = `CELL_IMAGE_CACHE_PORT: ${address}:${port} cannot be listened on. Choose another, or 0 for any free port.`
    throw new Failure('unavailable', why, { cause })
  }
  const { port: chosen } = server.address() as AddressInfo
  const scheme = parts.certificate === undefined ? 'http' : 'https'
  const url = `${scheme}://${address.includes(':') ? `[${address}]` : address}:${chosen}`
  parts.log.info({ url }, 'image cache serves')
  return {
    url,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** With a certificate that is renewed, new connections get the new one. */
function serverOf({ certificate }: CacheServerParts, listener: RequestListener): Server {
  if (certificate === undefined) return createServer(listener)
  const { cert, key } = certificate.current
  const server = createSecureServer({ cert, key, minVersion: 'TLSv1.2' }, listener)
  certificate.onRenewal((next) => server.setSecureContext({ cert: next.cert, key: next.key }))
  return server
}

async function answer(
  parts: CacheServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const image = imageOf(request)
  const pins = PINS.exec(request.url ?? '')
  if (image === undefined && pins === null) return end(response, 404, 'There is nothing here.')
  try {
    const pass = headerOf(request, 'x-weir-cache-pass')
    if (image === undefined) {
      const [, serverId = ''] = pins ?? []
      checkPass(parts.key, { serverId }, pass, parts.clock.now())
      return await changePins(parts, request, response, pins ?? [])
    }
    checkPass(parts.key, image, pass, parts.clock.now())
    if (request.method === 'GET' && request.url?.endsWith('/state') === true)
      endWithJson(response, await parts.cache.peek(image))
    else if (request.method === 'GET') await sendImage(parts, image, request, response)
    else if (request.method === 'POST') await preload(parts, image, response)
    else if (request.method === 'DELETE') await check(parts, image, response)
    else end(response, 405, 'GET, POST and DELETE are known here.')
  } catch (error) {
    if (response.headersSent || !isFailure(error)) throw error
    const isRefused = error.kind === 'unauthenticated'
    parts.metrics.answered(isRefused ? 'refused' : 'failed')
    end(response, isRefused ? 401 : 503, error.message)
  }
}

async function sendImage(
  { cache, metrics }: CacheServerParts,
  image: ImageFile,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const first = firstByte(request, image)
  if (first === undefined) return end(response, 416, 'One range is known, from a byte to the end.')
  await using held = await cache.hold(image, WAIT_MS)
  metrics.answered(held === undefined ? 'waiting' : 'served')
  if (held === undefined) return end(response, 202, 'The image is being fetched.')
  response.writeHead(first === 0 ? 200 : 206, {
    'content-type': 'application/octet-stream',
    'content-length': image.sizeBytes - first,
  })
  const count = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      metrics.served(chunk.length)
      yield chunk
    }
  }
  const file = createReadStream(held.path, { start: first, highWaterMark: READ_CHUNK_BYTES })
  await pipeline(file, count, response)
}

async function preload(
  { cache }: CacheServerParts,
  image: ImageFile,
  response: ServerResponse,
): Promise<void> {
  endWithJson(response, preloaded(await cache.begin(image)))
}

function preloaded({ isCached, bytes }: Awaited<ReturnType<CellImageCache['begin']>>): Preloaded {
  return { state: isCached ? 'cached' : 'fetching', fetchedBytes: bytes }
}

/** PUT /v1/pins/SERVER/IMAGE/SHA-256/BYTES; DELETE /v1/pins/SERVER, with ?except=SHA-256 for the one that stays. */
async function changePins(
  { cache }: CacheServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  [, serverId = '', id, sha256, sizeBytes, except]: readonly (string | undefined)[],
): Promise<void> {
  if (request.method === 'PUT' && id !== undefined && sha256 !== undefined) {
    const ticket = headerOf(request, 'x-weir-image-ticket')
    const image = { id: id as ImageId, sha256, sizeBytes: Number(sizeBytes), ticket }
    return endWithJson(response, preloaded(await cache.pin(serverId, image, madeOfIn(request))))
  }
  if (request.method !== 'DELETE' || id !== undefined)
    return end(response, 405, 'An image is pinned by PUT, and the pins of a server end by DELETE.')
  await cache.unpin(serverId, except)
  response.writeHead(204).end()
}

/** Throws `unavailable` for what is none. */
function madeOfIn(request: IncomingMessage): ImageMaking | undefined {
  const text = headerOf(request, MADE_OF)
  return text === '' ? undefined : checked(ImageMaking, jsonOf(text), `The header ${MADE_OF}`)
}

/** Undefined for text that is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function check(
  { cache }: CacheServerParts,
  image: ImageFile,
  response: ServerResponse,
): Promise<void> {
  await cache.removeDamaged(image)
  response.writeHead(204).end()
}

function imageOf(request: IncomingMessage): ImageFile | undefined {
  const [, id, sha256, sizeBytes] = PATH.exec(request.url ?? '') ?? []
  if (id === undefined || sha256 === undefined) return undefined
  const ticket = headerOf(request, 'x-weir-image-ticket')
  return { id: id as ImageId, sha256, sizeBytes: Number(sizeBytes), ticket }
}

/** Undefined for a range that is not in the image. */
function firstByte({ headers }: IncomingMessage, { sizeBytes }: ImageFile): number | undefined {
  if (headers.range === undefined) return 0
  const first = Number(RANGE.exec(headers.range)?.[1])
  return first < sizeBytes ? first : undefined
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

function endWithJson(response: ServerResponse, body: Preloaded | FoundInCache): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`)
}
