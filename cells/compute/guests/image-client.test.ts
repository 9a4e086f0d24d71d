import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DiskImage } from '#drivers/driver.ts'
import { ImageShelf } from '#drivers/testing/image-shelf.ts'
import { ImageClient } from './image-client.ts'

let server: Server
let client: ImageClient
let answer: (request: IncomingMessage, response: ServerResponse) => void
let asked: IncomingMessage[]

beforeEach(async () => {
  asked = []
  server = createServer((request, response) => {
    asked.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = new ImageClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/image/`)
})

afterEach(async () => {
  await client?.[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
})

const image = new ImageShelf().add(Buffer.alloc(10), { ticket: 'v1.ticket' })

async function read(signal = AbortSignal.timeout(5_000)): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await client.open(image, signal)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test('a content is read with the ticket it was given', async () => {
  answer = (_, response) => response.end('0123456789')

  expect(await read()).toBe('0123456789')
  expect(asked[0]?.url).toBe(`/image/internal/images/${image.id}/file`)
  expect(asked[0]?.headers['x-weir-image-ticket']).toBe('v1.ticket')
})

test('a redirect is not followed, so that the ticket stays with the service', async () => {
  answer = (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()

  await expect(read()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(asked).toHaveLength(1)
})

test.each([
  [401, 'unauthenticated'],
  [404, 'not-found'],
  [500, 'unavailable'],
  [503, 'unavailable'],
])('status %d is %s', async (status, kind) => {
  answer = (_, response) => response.writeHead(status).end('why')

  await expect(read()).rejects.toMatchObject({ kind })
})

test('a content of another length is refused, declared or not', async () => {
  answer = (_, response) => response.end('01234567890')
  await expect(read()).rejects.toMatchObject({ kind: 'invalid' })

  answer = (_, response) => {
    response.write('0123456')
    response.end('7890')
  }
  await expect(read()).rejects.toMatchObject({ kind: 'invalid' })
})

test('a content that breaks off may be asked for again', async () => {
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': '10' })
    response.write('01234', () => response.destroy())
  }

  await expect(read()).rejects.toMatchObject({ kind: 'unavailable' })
})

test('a service that does not answer is unavailable, and a caller can cancel its request', async () => {
  answer = () => undefined
  const reason = new Error('given up')
  const caller = new AbortController()
  const reading = read(caller.signal)
  caller.abort(reason)
  await expect(reading).rejects.toBe(reason)

  server.closeAllConnections()
  server.close()
  await expect(read()).rejects.toMatchObject({ kind: 'unavailable' })
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

  test('the disk is sent whole, with its format and the ticket', async () => {
    const sent: Buffer[] = []
    answer = (request, response) => {
      request.on('data', (chunk: Buffer) => sent.push(chunk))
      request.on('end', () => response.writeHead(204).end())
    }

    await fill()

    expect(Buffer.concat(sent).toString()).toBe('0123456789')
    expect(asked[0]?.method).toBe('PUT')
    expect(asked[0]?.url).toBe(`/image/internal/images/${target.imageId}/file`)
    expect(asked[0]?.headers).toMatchObject({
      'x-weir-image-ticket': 'v1.fill',
      'x-weir-disk-format': 'qcow2',
      'content-length': '10',
    })
  })

  test.each([
    [302, 'unavailable'],
    [400, 'invalid'],
    [401, 'unauthenticated'],
    [403, 'over-quota'],
    [404, 'not-found'],
    [409, 'unavailable'],
    [413, 'too-large'],
    [503, 'unavailable'],
  ])('status %d is %s', async (status, kind) => {
    answer = (request, response) => {
      request.resume()
      request.on('end', () => response.writeHead(status, { location: '/elsewhere' }).end('why'))
    }

    await expect(fill()).rejects.toMatchObject({ kind })
    expect(asked).toHaveLength(1)
  })

  test('a service that breaks off is unavailable', async () => {
    answer = (request) => request.socket.destroy()

    await expect(fill()).rejects.toMatchObject({ kind: 'unavailable' })
  })
})
