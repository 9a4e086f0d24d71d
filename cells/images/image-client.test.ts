import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { DiskImage } from '#drivers/driver.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { ImageClient } from './image-client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const RESPONSE_TIMEOUT_MS = 200
const CONTENT = '0123456789'

let servers: readonly Server[]
let client: ImageClient
/** How each of the two image services answers. */
let answers: [Answer, Answer]
let asked: { readonly service: number; readonly request: IncomingMessage }[]

beforeEach(async () => {
  asked = []
  servers = [0, 1].map((service) =>
    createServer((request, response) => {
      asked.push({ service, request })
      answers[service]?.(request, response)
    }),
  )
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
  const urls = servers.map((server) => `${urlOf(server)}/image/`)
  client = new ImageClient(urls, {
    clock: { sleep: async () => undefined },
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  })
})

afterEach(async () => {
  await client?.[Symbol.asyncDispose]()
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

const image = new TestImages().add(Buffer.alloc(10), { ticket: 'v1.ticket' })
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const silent: Answer = () => undefined
const dead: Answer = (request) => request.socket.destroy()
const status =
  (code: number): Answer =>
  (_, response) =>
    response.writeHead(code, { location: '/elsewhere' }).end('why')
/** The content, or the range that is asked for. */
const serving: Answer = ({ headers }, response) => {
  const first = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
  const body = CONTENT.slice(first)
  response.writeHead(first === 0 ? 200 : 206, { 'content-length': String(body.length) }).end(body)
}
const breaking =
  (bytes: number): Answer =>
  ({ headers }, response) => {
    const first = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
    response.writeHead(first === 0 ? 200 : 206, { 'content-length': String(10 - first) })
    response.write(CONTENT.slice(first, first + bytes), () => response.destroy())
  }

async function read(signal = AbortSignal.timeout(5_000)): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await client.open(image, signal)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const servicesAsked = () => asked.map(({ service }) => service)

test('a content is read with the ticket it was given', async () => {
  answers = [serving, silent]

  expect(await read()).toBe(CONTENT)
  expect(servicesAsked()).toEqual([0])
  const [{ request } = { request: undefined }] = asked
  expect(request?.url).toBe(`/image/internal/images/${image.id}/file`)
  expect(request?.headers['x-weir-image-ticket']).toBe('v1.ticket')
})

test('a redirect to an unknown place is not followed, so that the ticket stays with the service', async () => {
  answers = [status(302), status(302)]

  await expect(read()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(asked.filter(({ request }) => request.url === '/elsewhere')).toEqual([])
})

test.each([
  [401, 'unauthenticated'],
  [404, 'not-found'],
])('status %d is %s at once', async (code, kind) => {
  answers = [status(code), serving]

  await expect(read()).rejects.toMatchObject({ kind })
  expect(servicesAsked()).toEqual([0])
})

test.each([
  ['answers 500', status(500)],
  ['answers 503', status(503)],
  ['is silent', silent],
  ['closes the connection', dead],
])('where one gateway %s, the next serves, and is asked first from then on', async (_, answer) => {
  answers = [answer, serving]

  expect(await read()).toBe(CONTENT)
  expect(servicesAsked()).toEqual([0, 1])
  expect(await read()).toBe(CONTENT)
  expect(servicesAsked()).toEqual([0, 1, 1])
})

test.each([
  ['breaks off', breaking(4)],
  [
    'falls silent',
    (_: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '10' }).write('0123')
    },
  ],
])('a download that %s in the middle continues at the next gateway', async (_, answer) => {
  answers = [answer, serving]

  expect(await read()).toBe(CONTENT)
  expect(asked.map(({ request }) => request.headers.range)).toEqual([undefined, 'bytes=4-'])
})

test('a gateway of the release before, which knows no ranges, is asked too', async () => {
  answers = [breaking(4), (_, response) => response.end(CONTENT)]

  expect(await read()).toBe(CONTENT)
})

test('a download that breaks off again and again continues as long as bytes come', async () => {
  answers = [breaking(1), breaking(2)]

  expect(await read()).toBe(CONTENT)
})

test('a content of another length is refused, declared or not', async () => {
  answers = [(_, response) => response.end('01234567890'), serving]
  await expect(read()).rejects.toMatchObject({ kind: 'invalid' })

  const streamed: Answer = (_, response) => {
    response.write('0123456')
    response.end('7890')
  }
  answers = [streamed, streamed]
  await expect(read()).rejects.toMatchObject({ kind: 'invalid' })
})

test('where no gateway answers the content is unavailable, and a caller can cancel its request', async () => {
  answers = [silent, silent]
  const reason = new Error('given up')
  const caller = new AbortController()
  const reading = read(caller.signal)
  caller.abort(reason)
  await expect(reading).rejects.toBe(reason)

  await expect(read()).rejects.toMatchObject({ kind: 'unavailable' })
})

describe('a gateway that sends its reader to the store', () => {
  const toStore: Answer = (request, response) => {
    if (request.headers['x-weir-image-direct'] !== 'yes') serving(request, response)
    else
      response.writeHead(307, { location: `${urlOf(servers[1] as Server)}/contents/x?s=1` }).end()
  }

  test('has the content read there, without the ticket', async () => {
    answers = [toStore, serving]

    expect(await read()).toBe(CONTENT)
    expect(servicesAsked()).toEqual([0, 1])
    expect(asked[1]?.request.url).toBe('/contents/x?s=1')
    expect(asked[1]?.request.headers['x-weir-image-ticket']).toBeUndefined()
  })

  test.each([
    ['refuses the URL', status(403)],
    ['is silent', silent],
    ['has it no more', status(404)],
  ])('sends the bytes itself where the store %s', async (_, answer) => {
    answers = [toStore, answer]

    expect(await read()).toBe(CONTENT)
    expect(servicesAsked()).toEqual([0, 1, 0])
  })
})

describe('keeping the content of an image', () => {
  const target = { imageId: '5a3e0b7e-1111-4222-8333-444455556666', ticket: 'v1.fill' }
  const hostId = newId<HostId>()
  const digests = { md5: 'a', sha256: 'b', sha512: 'c' }
  const saved = { hostId, diskFormat: 'qcow2', sizeBytes: 10, ...digests } as const
  const keep = () =>
    client.keep({ ...target, changesOf: 'copy' }, saved, AbortSignal.timeout(5_000))
  const isKept = () => client.isKept(target, hostId, AbortSignal.timeout(5_000))
  const saying =
    (body: object, taken: string[] = []): Answer =>
    (request, response) => {
      request.on('data', (chunk: Buffer) => taken.push(String(chunk)))
      request.on('end', () => response.writeHead(200).end(JSON.stringify(body)))
    }
  const kept = { kept: true, filled: true }

  test('a gateway is told where the content is, and what it is', async () => {
    const taken: string[] = []
    answers = [saying(kept, taken), silent]

    expect(await keep()).toEqual({ isKept: true, isFilled: true })

    expect(JSON.parse(taken.join(''))).toEqual({
      ...{ host_id: hostId, disk_format: 'qcow2', changes_of: 'copy', size: 10, ...digests },
    })
    const [{ request } = { request: undefined }] = asked
    expect(request?.method).toBe('POST')
    expect(request?.url).toBe(`/image/internal/images/${target.imageId}/kept`)
    expect(request?.headers).toMatchObject({ 'x-weir-image-ticket': 'v1.fill' })
  })

  test.each([
    [400, 'invalid'],
    [404, 'not-found'],
    [409, 'conflict'],
  ])('status %d says at once that the content is to be sent (%s)', async (code, kind) => {
    answers = [status(code), saying(kept)]

    await expect(keep()).rejects.toMatchObject({ kind })
    expect(servicesAsked()).toEqual([0])
  })

  test('the next gateway is asked where one breaks off, whose refusal then says nothing of the first', async () => {
    answers = [dead, saying(kept)]
    expect(await keep()).toEqual({ isKept: true, isFilled: true })

    answers = [status(409), dead]
    await expect(keep()).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('any gateway says whether the content is to stay', async () => {
    answers = [status(404), saying({ kept: false, filled: false })]
    expect(await isKept()).toBe(false)

    answers = [status(404), dead]
    await expect(isKept()).rejects.toMatchObject({ kind: expect.any(String) })
  })
})

describe('filling an image', () => {
  const target = { imageId: '5a3e0b7e-1111-4222-8333-444455556666', ticket: 'v1.fill' }
  const disk: DiskImage = {
    diskFormat: 'qcow2',
    sizeBytes: 10,
    async *content() {
      yield Buffer.from('01234')
      yield Buffer.from('56789')
    },
    [Symbol.asyncDispose]: async () => {},
  }
  const fill = () => client.fill(target, disk, AbortSignal.timeout(5_000))
  const taking =
    (sent: Buffer[]): Answer =>
    (request, response) => {
      request.on('data', (chunk: Buffer) => sent.push(chunk))
      request.on('end', () => response.writeHead(204).end())
    }
  const refusing =
    (code: number): Answer =>
    (request, response) => {
      request.resume()
      request.on('end', () => response.writeHead(code, { location: '/elsewhere' }).end('why'))
    }

  test('the disk is sent whole, with its format and the ticket', async () => {
    const sent: Buffer[] = []
    answers = [taking(sent), silent]

    await fill()

    expect(Buffer.concat(sent).toString()).toBe(CONTENT)
    const [{ request } = { request: undefined }] = asked
    expect(request?.method).toBe('PUT')
    expect(request?.url).toBe(`/image/internal/images/${target.imageId}/file`)
    expect(request?.headers).toMatchObject({
      'x-weir-image-ticket': 'v1.fill',
      'x-weir-disk-format': 'qcow2',
      'content-length': '10',
    })
  })

  test.each([
    [400, 'invalid'],
    [401, 'unauthenticated'],
    [403, 'over-quota'],
    [404, 'not-found'],
    [413, 'too-large'],
  ])('status %d is %s at once', async (code, kind) => {
    answers = [refusing(code), taking([])]

    await expect(fill()).rejects.toMatchObject({ kind })
    expect(servicesAsked()).toEqual([0])
  })

  test.each([302, 409, 503])('status %d of all gateways is unavailable', async (code) => {
    answers = [refusing(code), refusing(code)]

    await expect(fill()).rejects.toMatchObject({ kind: 'unavailable' })
    expect(servicesAsked()).toEqual([0, 1])
  })

  test('a gateway that breaks off is followed by the next, which gets all of the disk', async () => {
    const sent: Buffer[] = []
    answers = [dead, taking(sent)]

    await fill()

    expect(Buffer.concat(sent).toString()).toBe(CONTENT)
  })

  test('where all break off it is unavailable', async () => {
    answers = [dead, dead]

    await expect(fill()).rejects.toMatchObject({ kind: 'unavailable' })
  })
})
