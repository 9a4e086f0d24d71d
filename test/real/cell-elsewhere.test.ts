import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { type Call, callApi, type Session } from '#deploy/api/session.ts'
import { Checkout, tokenFile } from '../env/checkout.ts'
import { type FarNetwork, farNetwork } from '../env/far-network.ts'
import { isFullRun } from '../env/full-run.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a cell works fully if it can reach one address of the gateway's machine and nothing can reach the cell; without
// its link it continues alone. test/api/joining.test.ts tests joining and leaving themselves.

const why = isFullRun ? whyNoGuests(['ip', 'openssl']) : 'joining as such is tested without'
const SERVERS = '/compute/v2.1/servers'
const LIMIT_MS = 60_000
const CONVERGES_LIMIT_MS = 30_000

interface CellShown {
  readonly is_alive: boolean
  readonly summary: { readonly hosts_up: number; readonly servers: number } | null
}

describe.skipIf(why !== undefined)(
  `a cell elsewhere${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let network: FarNetwork
    let here: Checkout
    let there: Checkout
    let admin: Session
    let demo: Session
    let serverId: string

    beforeAll(async () => {
      network = farNetwork(9)
      here = new Checkout()
      there = new Checkout(network.within)
      const size = ['--cells', '1', '--hosts', '1']
      await here.succeed('up', '--driver', 'fake', ...size, '--address', network.address)
      admin = await here.signIn('weir-admin')
      demo = await here.signIn('weir')
    }, 300_000)

    afterAll(async () => {
      await there?.[Symbol.asyncDispose]()
      await here?.[Symbol.asyncDispose]()
      network?.[Symbol.dispose]()
    }, 120_000)

    const asked = <Answer>(who: Session, method: Call['method'], path: string, body?: object) =>
      callApi<Answer>(who, { method, path, body })
    const edge = () => asked<CellShown>(admin, 'GET', '/federation/v1/cells/edge-1')
    const statusOf = async (id: string) =>
      (await asked<{ server: { status: string } }>(demo, 'GET', `${SERVERS}/${id}`)).server.status
    const until = (status: string) =>
      waitFor(
        `the server to be ${status}`,
        async () => (await statusOf(serverId)) === status,
        LIMIT_MS,
      )
    const act = (action: object) =>
      asked<{ output: string }>(demo, 'POST', `${SERVERS}/${serverId}/action`, action)

    test('one command makes it, with a token that names the gateway’s certificate', async ({
      annotate,
    }) => {
      const { token, join_token } = await asked<{ token: string; join_token: { gateway: string } }>(
        admin,
        'POST',
        '/federation/v1/tokens',
        { cell: 'edge-1' },
      )
      const { gateway } = join_token
      expect(gateway).toContain(`https://${network.address}:`)
      const joinWith = (text: string) =>
        there.weir(
          'cell',
          'join',
          '--gateway',
          gateway,
          '--token-file',
          tokenFile(text),
          '--driver',
          'fake',
        )

      const forged = await joinWith(`${token.slice(0, -5)}AAAAA`)
      expect(forged.stderr).toContain('is not the gateway that made this token')
      const startMs = performance.now()
      expect(await joinWith(token)).toMatchObject({ code: 0 })
      await waitFor('a heartbeat of the cell', async () => (await edge()).is_alive, LIMIT_MS)
      await annotate(`schedulable ${Math.round(performance.now() - startMs)} ms after the command`)
      expect((await edge()).summary).toMatchObject({ hosts_up: 2 })
      expect((await joinWith(token)).stderr).toContain(
        'This join token was used. Ask for a new one.',
      )
    })

    test('takes servers', async () => {
      const { images } = await asked<{ images: readonly [{ id: string }] }>(
        demo,
        'GET',
        '/image/v2/images',
      )
      const { networks } = await asked<{ networks: readonly [{ id: string }] }>(
        demo,
        'GET',
        '/networking/v2.0/networks',
      )
      const { flavors } = await asked<{ flavors: readonly { id: string; name: string }[] }>(
        demo,
        'GET',
        '/compute/v2.1/flavors',
      )
      const server = {
        name: 'far',
        imageRef: images[0].id,
        flavorRef: flavors.find(({ name }) => name === 'm1.tiny')?.id,
        networks: [{ uuid: networks[0].id }],
        availability_zone: 'edge-1',
      }
      const made = await asked<{ server: { id: string } }>(demo, 'POST', SERVERS, { server })
      serverId = made.server.id
      await until('ACTIVE')
      expect((await act({ 'os-getConsoleOutput': {} })).output).toContain('booted')
    })

    test('one more host of that machine joins the gateway’s own cell', async () => {
      await using machine = new Checkout(network.within)
      const { token, join_token } = await asked<{ token: string; join_token: { gateway: string } }>(
        admin,
        'POST',
        '/federation/v1/tokens',
        { cell: 'north', host: 'extra' },
      )
      const join = [
        'host',
        'join',
        '--gateway',
        join_token.gateway,
        '--token-file',
        tokenFile(token),
      ]
      await machine.succeed(...join, '--driver', 'fake')
      const isUp = async () => {
        const { hosts } = await asked<{ hosts: readonly { name: string; is_up: boolean }[] }>(
          admin,
          'GET',
          '/federation/v1/hosts?cell=north',
        )
        return hosts.some((host) => host.name === 'extra' && host.is_up)
      }
      await waitFor('the host to be up', isUp, LIMIT_MS)
    })

    test('keeps working without the link, and agrees with the gateways soon after it is back', async ({
      annotate,
    }) => {
      const before = await there.processes()
      network.setWire('down')
      const cutMs = performance.now()
      await waitFor('the cell to be unreachable', async () => !(await edge()).is_alive, LIMIT_MS)
      await annotate(
        `unreachable ${Math.round(performance.now() - cutMs)} ms after the link was cut`,
      )
      expect(await statusOf(serverId)).toBe('ACTIVE')
      expect(await there.processes()).toEqual(before)

      network.setWire('up')
      const backMs = performance.now()
      await waitFor('the cell to be back', async () => (await edge()).is_alive, CONVERGES_LIMIT_MS)
      await act({ 'os-stop': null })
      await until('SHUTOFF')
      await annotate(
        `stopped a server ${Math.round(performance.now() - backMs)} ms after it is back`,
      )
    })

    test('leaves when it is empty, and is shut out at once', async () => {
      const leave = () => asked(admin, 'DELETE', '/federation/v1/cells/edge-1')
      await expect(leave()).rejects.toThrow('Cell edge-1 has 1 server.')
      await asked(demo, 'DELETE', `${SERVERS}/${serverId}`)
      await waitFor(
        'it to say it is empty',
        async () => (await edge()).summary?.servers === 0,
        LIMIT_MS,
      )

      await leave()

      const log = () => readFileSync(join(there.home, 'nats', 'nats.log'), 'utf8')
      await waitFor('it to be refused', () => log().includes('Authorization Violation'), LIMIT_MS)
      const gone = await edge().catch((error: unknown) => isFailure(error))
      expect(gone).toBe(true)
    })
  },
)
