import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { Checkout, type ListedServer, tokenFile } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'

const PROCESSES = [
  'mariadb',
  'nats',
  'gateway-1',
  'cell-north',
  'cell-south',
  'compute-north-1',
  'compute-north-2',
  'compute-south-1',
  'compute-south-2',
]

let checkout: Checkout
let shown: string
let first: ListedServer | undefined

beforeAll(async () => {
  checkout = new Checkout()
  shown = await checkout.succeed('up', '--driver', 'fake', '--cells', '2', '--hosts', '2')
})

afterAll(() => checkout?.[Symbol.asyncDispose]())

const firstServer = async () => (await checkout.servers()).find(({ name }) => name === 'first')
const portOf = () => Number(new URL(checkout.cloud('weir').auth_url).port)

describe('./weir', () => {
  test('up prints the endpoint, passwords, clouds.yaml and commands to try, and its server is ACTIVE', async () => {
    first = await firstServer()

    expect(first?.status).toBe('ACTIVE')
    expect(shown).toContain('Weir is up.')
    expect(shown).toContain(checkout.cloud('weir').auth_url)
    expect(shown).toContain('servers are simulated')
    for (const name of ['weir', 'weir-admin'] as const)
      expect(shown).toContain(checkout.cloud(name).password)
    expect(shown.match(/^ {2}(eval|openstack) /gm)).toHaveLength(3)
    expect(statSync(checkout.cloudsFile).mode & 0o777).toBe(0o600)
  })

  test('up again changes nothing, says so, and shows no password', async () => {
    const before = await checkout.processes()

    const again = await checkout.succeed('up')

    expect(again).toContain('up already; nothing was changed')
    expect(again).not.toContain(checkout.cloud('weir').password)
    expect(await checkout.processes()).toEqual(before)
  })

  test('status shows every process, its pid and its memory; doctor finds nothing bad', async () => {
    const status = await checkout.succeed('status')

    expect([...(await checkout.processes()).keys()]).toEqual(PROCESSES)
    expect(status.match(/^\S+ +up +pid \d+ +[1-9]\d* MiB$/gm)).toHaveLength(PROCESSES.length)
    const upgrade = await checkout.succeed('upgrade', 'check')
    expect(upgrade.match(/^ok .*/gm)).toHaveLength(6)
    const doctor = await checkout.succeed('doctor')
    for (const what of [
      'Node v',
      'of disk free',
      'gateway-1 at port',
      'MariaDB answers',
      'NATS an',
    ])
      expect(doctor).toContain(what)
  })

  test('cell verify builds a server in a cell, deletes it, and names a missing flavor or cell', async () => {
    expect(await checkout.succeed('cell', 'verify', 'north', '--boot')).toMatch(
      /^ok +host +north-\d takes m1\.tiny with tiny\nok +boot +active after .*\nok +delete +gone after .*\n$/,
    )
    for (const cells of [[], ['north']])
      expect(await checkout.succeed('cell', 'verify', ...cells)).toContain(
        'there are no tunnels between cells to test',
      )
    expect(await checkout.weir('cell', 'verify', 'nowhere')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no cell nowhere. There are: north, south.'),
    })
    expect(await checkout.weir('cell', 'verify', '--boot')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Name a cell, with or without --boot'),
    })
    expect(await checkout.weir('cell', 'verify', 'nowhere', '--boot')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('There is no cell nowhere. There are: north, south.'),
    })
  })

  test('env and logs speak of this deployment', async () => {
    expect(await checkout.succeed('env', '--cloud', 'weir-admin')).toBe(
      `export OS_CLIENT_CONFIG_FILE='${checkout.cloudsFile}'\nexport OS_CLOUD=weir-admin\n`,
    )
    expect(await checkout.succeed('env', '--openrc')).toContain("\nexport OS_USERNAME='demo'\n")
    expect(await checkout.succeed('--version')).toMatch(/^weir \d+\.\d+\.\d+$/m)
    expect(await checkout.succeed('logs', 'gateway-1', '-n', '1000')).toContain('gateway listens')
    expect(await checkout.weir('logs', 'nobody')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There are: mariadb, nats'),
    })
  })

  test.runIf(isFullRun)('the lines of all logs about a request are shown with it', async () => {
    const id = String(first?.id)
    const actions = await checkout.succeed('server', 'events', id, '-o', 'json')
    const [{ request_id: request }] = JSON.parse(actions)

    const shown = await checkout.succeed('request', 'show', request)

    expect(shown).toMatch(/^LOG\ngateway-1 {2}.+"operation":"createServer"/m)
    expect(shown).toMatch(new RegExp(`^gateway-1 .+"server_id":"${id}".+"server work ended"`, 'm'))
  })

  test.each([
    [['--cells', '65'], 2, 'Give a whole number from 0 to 64'],
    [['--port', '99999'], 2, 'Give a whole number from 1 to 65535'],
    [['--driver', 'vmware'], 2, 'Allowed choices are auto, baremetal, docker, fake, libvirt'],
    [['--nonsense'], 2, "unknown option '--nonsense'"],
    [['--cells', '3'], 1, 'has --cells 2, not 3'],
  ])('up %s is refused, and it says why', async (options, ending, reason) => {
    const { code, stderr } = await checkout.weir('up', ...options)

    expect(code).toBe(ending)
    expect(stderr).toContain(reason)
  })

  test('a killed process is shown as down, and up starts it and no other', async () => {
    const before = await checkout.processes()
    // It would start them.
    process.kill(checkout.supervisorPid(), 'SIGKILL')
    const killed = ['nats', 'cell-north', 'compute-south-1']
    for (const name of killed) process.kill(before.get(name) ?? Number.NaN, 'SIGKILL')
    const status = () => checkout.weir('status')
    await waitFor('all to be seen', async () => (await status()).stdout.includes('3 not'), 10_000)
    expect(await status()).toMatchObject({ code: 4 })

    expect(await checkout.succeed('up')).toContain('Weir is up again.')
    // The cell answers by then, and is not only shown as it was before.
    await checkout.succeed('cell', 'orphans', 'north')

    const after = await checkout.processes()
    expect([...after.keys()]).toEqual(PROCESSES)
    expect(PROCESSES.filter((name) => after.get(name) !== before.get(name))).toEqual(killed)
    expect(await firstServer()).toEqual(first)
  })

  test('down stops all; up brings back servers and passwords, at another port where its own is taken', async () => {
    const { password, auth_url } = checkout.cloud('weir')
    const port = portOf()
    expect(await checkout.succeed('down')).toContain('Weir is down')
    expect([...(await checkout.processes()).keys()]).toEqual([])
    expect(await checkout.succeed('down')).toContain('down already')
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')

    const { stderr } = await checkout.weir('up')

    squatter.close()
    expect(stderr).toContain(`Port ${port} is taken: gateway-1 serves at port ${portOf()}`)
    expect(checkout.cloud('weir').auth_url).not.toBe(auth_url)
    expect(checkout.cloud('weir').password).toBe(password)
    expect(await firstServer()).toEqual(first)
  })

  test.runIf(isFullRun)(
    'checkouts that come up at the same time serve at ports of their own',
    async () => {
      await using one = new Checkout()
      await using two = new Checkout()
      const size = ['--cells', '1', '--hosts', '1']
      await Promise.all([one, two].map((each) => each.succeed('up', '--driver', 'fake', ...size)))

      const endpoints = [one, two].map(({ cloudsFile }) => {
        return /auth_url: (http:\S+)/.exec(readFileSync(cloudsFile, 'utf8'))![1]
      })
      expect(new Set(endpoints).size).toBe(2)
    },
  )

  test.runIf(isFullRun)(
    'another checkout comes up beside it, with as many gateways as asked for',
    async () => {
      await using other = new Checkout()
      const taken = await other.weir('up', '--driver', 'fake', '--port', String(portOf()))
      expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use') })
      const options = ['--cells', '1', '--hosts', '1', '--gateways', '2']
      const kept = (file: string, text: string) => () => {
        const path = join(other.home, file)
        return existsSync(path) && readFileSync(path, 'utf8').includes(text)
      }
      const isBeingMade = () => existsSync(join(other.home, 'mariadb/data.new/mysql'))
      await other.killed(isBeingMade, 'up', '--driver', 'fake', ...options)
      expect(other.left().join()).toContain('mariadb-install-db')
      // On a busy machine the installation may have ended by itself before `down` looks.
      await other.succeed('down')
      expect(other.left()).toEqual([])
      await other.killed(kept('mariadb/settings.json', 'pid'), 'up', '--driver', 'fake', ...options)
      await other.succeed('down')
      expect(other.left()).toEqual([])
      await other.killed(kept('state.json', '"gateway-2": {'), 'up', '--driver', 'fake', ...options)
      const started = await other.processes()
      expect([...started.keys()]).toEqual(expect.arrayContaining(['mariadb', 'nats', 'gateway-1']))

      await other.succeed('up', '--driver', 'fake', ...options)
      expect(await other.processes()).toEqual(new Map([...(await other.processes()), ...started]))
      const [before] = await other.servers()
      await other.succeed('up', '--driver', 'fake', ...options, '--fresh')

      const [after] = await other.servers()
      expect([before?.status, after?.status]).toEqual(['ACTIVE', 'ACTIVE'])
      expect(after?.id).not.toBe(before?.id)
      expect([...(await other.processes()).keys()]).toContain('gateway-2')
      expect(await firstServer()).toEqual(first)
    },
  )

  test.runIf(isFullRun)(
    'a database that was backed up is restored, and all comes up again',
    async () => {
      const file = join(checkout.home, 'north.backup')
      expect(await checkout.weir('backup', 'west', '--file', file)).toMatchObject({ code: 3 })
      await checkout.succeed('backup', 'north', '--file', file)
      const again = await checkout.weir('backup', 'north', '--file', file)
      expect(again.stderr).toContain('nothing is overwritten')
      expect((await checkout.weir('restore', file)).stderr).toContain('--yes')

      expect(await checkout.succeed('restore', file, '--yes')).toContain('The deployment runs.')
      expect([...(await checkout.processes()).keys()]).toEqual(PROCESSES)
      expect(await firstServer()).toEqual(first)
    },
  )

  test('a whole deployment that was backed up is restored, images included', async () => {
    const directory = join(checkout.home, 'backups')
    const made = await checkout.succeed('backup', 'run', '--directory', directory)
    expect(made).toMatch(/holds 3 databases and 1 image, and was verified/)
    const [name = ''] = (await checkout.succeed('backup', 'list', '--directory', directory)).split(
      ' ',
    )
    const verified = await checkout.succeed('backup', 'verify', '--directory', directory)
    expect(verified).toContain(`Backup ${name} is whole`)
    const contents = join(checkout.home, 'images', 'contents')
    const [image = ''] = readdirSync(contents)
    rmSync(join(contents, image))

    const restored = await checkout.succeed('restore', join(directory, name), '--yes')

    expect(restored).toContain('The deployment runs.')
    expect(readdirSync(contents)).toContain(image)
    expect([...(await checkout.processes()).keys()]).toEqual(PROCESSES)
    expect(await firstServer()).toEqual(first)
    const missing = await checkout.weir('backup', 'verify', '--directory', checkout.home)
    expect(missing.stderr).toContain('./weir backup run')
  })

  test.runIf(isFullRun)(
    'a host joins a cell that runs, with a token, and comes back after a stop',
    async () => {
      await using machine = new Checkout()
      const line = await checkout.succeed('cell', 'token', 'create', 'north', '--host', 'extra')
      const [given = '', , ...options] = line.trim().split(' ')
      expect(given).toMatch(/^WEIR_JOIN_TOKEN=weir1\./)
      expect(options.slice(0, 3)).toEqual(['host', 'join', '--gateway'])
      const joining = [...options, '--token-file', tokenFile(given.slice(given.indexOf('=') + 1))]
      const ofCell = await machine.weir('cell', ...joining.slice(1), '--driver', 'fake')
      expect(ofCell.stderr).toContain('Use it with: ./weir host join')
      expect(await machine.succeed(...joining, '--driver', 'fake')).toContain(
        'Host extra of cell north',
      )
      expect([...(await machine.processes()).keys()]).toEqual(['compute-extra'])
      const hosts = async () => (await checkout.succeed('host', 'list', '-o', 'name')).split('\n')
      await expect.poll(hosts).toContain('extra')
      await machine.succeed('down')
      expect(await machine.succeed('up')).toContain('Host extra of cell north is up again.')

      const shown = async () => {
        const text = await checkout.succeed('host', 'show', 'extra', '-o', 'json')
        return JSON.parse(text) as { readonly id: string; readonly is_up: boolean }
      }
      const { id } = await shown()
      expect((await checkout.weir('host', 'shut-out', 'extra')).stderr).toContain('--yes')
      await checkout.succeed('host', 'shut-out', 'extra', '--yes')
      await expect.poll(async () => (await shown()).is_up).toBe(false)
      const again = await checkout.succeed(
        ...['cell', 'token', 'create', 'north', '--host', 'extra', '--renew'],
      )
      const token = tokenFile(again.trim().split(' ')[0]?.split('=')[1] ?? '')
      await machine.succeed(...options, '--token-file', token)
      await expect.poll(async () => (await shown()).is_up).toBe(true)
      expect((await shown()).id).toBe(id)
    },
  )

  test.runIf(isFullRun)(
    'a lost cell comes back by the commands, and both sides report its state',
    async () => {
      await using machine = new Checkout()
      const joinCell = async (...more: readonly string[]) => {
        const line = await checkout.succeed('cell', 'token', 'create', 'edge', ...more)
        const [given = '', , ...options] = line.trim().split(' ')
        const token = tokenFile(given.slice(given.indexOf('=') + 1))
        return machine.succeed(...options, '--driver', 'fake', '--token-file', token)
      }
      const cell = async () => {
        const text = await checkout.succeed('cell', 'show', 'edge', '-o', 'json')
        return JSON.parse(text) as Readonly<Record<'id' | 'is_reachable' | 'loss', unknown>>
      }
      expect(await joinCell()).toContain('Cell edge has joined.')
      await expect.poll(async () => (await cell()).is_reachable).toBe(true)
      const { id } = await cell()
      await machine.succeed('down')
      const lose = ['cell', 'lost', 'edge', '--stopped', 'It was switched off.', '--yes']
      await expect
        .poll(async () => (await checkout.weir(...lose)).stderr)
        .toContain('the gateways now take its servers from it')

      const up = await machine.weir('up')

      expect(up.stderr).toContain('refuses cell edge')
      expect(await machine.weir('status')).toMatchObject({
        code: 4,
        stdout: expect.stringMatching(/was declared lost at \S+,.* --renew/),
      })
      const log = () => machine.succeed('logs', 'cell-edge')
      await expect.poll(log).toMatch(/was declared lost.*"bus refuses the credential"/)
      await joinCell('--renew')
      await expect.poll(async () => (await cell()).loss).toBeNull()
      expect((await cell()).id).toBe(id)
      expect(await machine.succeed('status')).not.toContain('refuses')

      await checkout.succeed('cell', 'leave', 'edge', '--yes')

      expect(await machine.weir('doctor')).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('the cell has left this deployment'),
      })
      const gateway = await checkout.succeed('logs', 'gateway-1', '-n', '1000')
      expect(gateway).not.toMatch(/round failed.*(edge|not registered)/)
    },
  )
})
