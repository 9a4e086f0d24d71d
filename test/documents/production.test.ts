import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session, signIn } from '#deploy/api/session.ts'
import { ensureFlavors } from '#deploy/catalog/ensure-flavors.ts'
import { ensureImage, simulatedImage } from '#deploy/catalog/ensure-image.ts'
import { trust } from '../env/certificate.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Machine, MachineNetwork } from '../env/machines/machine.ts'
import { RESTORE_LINES } from './outside-lines.ts'
import { notTyped, pageScript, type Step } from './page-script.ts'
import { servedCertificate } from './served-certificate.ts'

// Goal: the commands of the page for three machines make a control plane from nothing, each machine with an address of its
// own; and where one of the machines is lost, with everything on it, users notice nothing but latency.

const MADE_MS = 300_000
const STATE_MS = 60_000
/** Cells, hosts and gateways read their files again every ten seconds. */
const READ_AGAIN_MS = 12_000
const BOOTS = 5
const VERSION = { 'openstack-api-version': 'compute 2.90' }
const START_ALL = 'systemctl enable --now weir-mariadb weir-nats weir-gateway weir-haproxy'
const JOIN = './weir gateway join --from https://192.0.2.11:8445 --token-file token'
/** The commands that replace the certificate, which a test types while servers are booted. */
const REPLACE = {
  create: './weir certificate create',
  copySecond: 'scp /etc/weir/next.crt /etc/weir/next.key 192.0.2.12:/etc/weir/',
  copyThird: 'scp /etc/weir/next.crt /etc/weir/next.key 192.0.2.13:/etc/weir/',
  trust: './weir certificate trust',
  reload: 'systemctl reload weir-mariadb weir-nats weir-haproxy',
  cellTrust: 'cat next.crt >> .weir/secrets/gateway.crt',
  use: './weir certificate use',
  forget: './weir certificate forget',
} as const
/** Of every machine, with what a server sends before TLS begins. */
const PORTS = [
  [8443, 'tls'],
  [8444, 'tls'],
  [4567, 'tls'],
  [3306, 'mysql'],
  [4222, 'nats'],
  [6222, 'tls'],
  [7422, 'nats'],
] as const
const ENVIRONMENT = 'export OS_CLOUD=weir-admin OS_CLIENT_CONFIG_FILE=/etc/weir/clouds.yaml'

const log = createLogger('production', 'info')

let network: MachineNetwork
let machines: readonly [Machine, Machine, Machine]
let cell: Machine
let joinToken = ''
let isTrusted: Disposable | undefined
let demo: Session

/** The addresses of the page are those of this test's network. */
function typed(line: string): string {
  return line.replaceAll('192.0.2.', `${network.prefix}.`)
}

async function succeed(machine: Machine, line: string): Promise<string> {
  const { code, said } = await machine.type(typed(line))
  expect(code, `${line} said: ${said}`).toBe(0)
  return said
}

/** The first machine waits until the other one has used the token that it prints. */
async function admit(other: Machine): Promise<void> {
  const [first] = machines
  const waiting = first.begin(`./weir gateway admit ${other.address}`)
  const ended = new Promise<number | null>((resolve) => waiting.once('exit', resolve))
  let said = ''
  waiting.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await waitFor('a token', () => said.endsWith('\n'), STATE_MS)
  await succeed(other, `echo ${said.trim()} > /run/token`)
  await succeed(other, JOIN.replace('token-file token', 'token-file /run/token'))
  expect(await ended).toBe(0)
}

const [FIRST, SECOND, THIRD] = [() => machines[0], () => machines[1], () => machines[2]]
const AT: Readonly<Record<string, () => readonly Machine[]>> = {
  all: () => machines,
  first: () => [FIRST()],
  second: () => [SECOND()],
  third: () => [THIRD()],
  cell: () => [cell],
}
const IS_HERE = 'The packages of this machine are those of the others.'

const HOW: Readonly<Record<string, Step>> = {
  'apt-get install npm mariadb-server mariadb-backup galera-4 nats-server haproxy socat': {
    notTyped: IS_HERE,
  },
  'systemctl disable --now mariadb nats-server haproxy': { notTyped: IS_HERE },
  'cd /usr/lib/weir && npm ci --ignore-scripts': { notTyped: IS_HERE },
  'useradd --system --home-dir /var/lib/weir weir': { at: 'all' },
  'cp deploy/systemd/weir-*.service /etc/systemd/system/': { at: 'all' },
  'systemctl daemon-reload': { at: 'all' },
  './weir init --machines 192.0.2.11,192.0.2.12,192.0.2.13 --endpoint 192.0.2.10': {
    shows: /Clients reach it at https:\/\/[\d.]+:8443/,
  },
  './weir gateway admit 192.0.2.12': { notTyped: 'It is typed with the join that it waits for.' },
  [JOIN]: { notTyped: 'The same.', before: () => admit(SECOND()) },
  [START_ALL]: {
    at: 'second',
    after: async () => {
      await admit(THIRD())
      await succeed(THIRD(), START_ALL)
      // As keepalived does.
      await SECOND().takeAddress(`${network.prefix}.10`)
    },
  },
  './weir db status --env-file /etc/weir/gateway.env': {
    at: 'third',
    shows: /machine-1 +writer[^]*machine-2 +ready[^]*machine-3 +ready/,
  },
  './weir config check --env-file /etc/weir/gateway.env': { at: 'third' },
  [ENVIRONMENT]: { notTyped: 'It is typed before the next command.' },
  './weir cell token create north': {
    typed: `${ENVIRONMENT}; ./weir cell token create north`,
    shows: /WEIR_JOIN_TOKEN=weir1\./,
  },
  'WEIR_JOIN_TOKEN=weir1.… ./weir cell join --gateway https://192.0.2.10:8443': {
    at: 'cell',
    typed:
      'WEIR_HOME=/var/lib/weir/home WEIR_JOIN_TOKEN=weir1.… ./weir cell join --gateway https://192.0.2.10:8443 --driver fake --hosts 1',
    shows: /Cell north has joined/,
  },
  ...notTyped('A test below types it.', Object.values(REPLACE)),
}

async function typePage(): Promise<void> {
  for (const step of pageScript('docs/how-to/production.md', HOW).steps) {
    await step.before?.()
    for (const machine of step.notTyped === undefined ? AT[step.at ?? 'first']!() : []) {
      const line = (step.typed ?? step.line).replace('weir1.…', joinToken)
      const begun = performance.now()
      const said = await succeed(machine, line)
      log.info({ line: step.line, ms: Math.round(performance.now() - begun) }, 'typed')
      if (step.shows !== undefined) expect(said).toMatch(step.shows)
      joinToken = /weir1\.[\w-]+\.[\w-]+/.exec(said)?.[0] ?? joinToken
    }
    await step.after?.()
  }
}

async function signInAs(name: 'admin' | 'demo'): Promise<Session> {
  return signIn(`https://${network.prefix}.10:8443`, {
    userName: name,
    projectName: name,
    password: await succeed(FIRST(), `cat /etc/weir/${name}.password`),
  })
}

interface Server {
  readonly id: string
  readonly status: string
}

/** Returns once the server is ACTIVE and deleted again. Throws for any request that fails. */
async function bootAndDelete(imageRef: string): Promise<void> {
  const path = '/compute/v2.1/servers'
  const server = { name: 'one', flavorRef: '1', imageRef, networks: 'none' }
  const made = await callApi<{ server: Server }>(demo, {
    method: 'POST',
    path,
    headers: VERSION,
    body: { server },
  })
  const own = `${path}/${made.server.id}`
  const state = await waitFor(
    'the server to be built',
    async () => {
      const shown = await callApi<{ server: Server }>(demo, { method: 'GET', path: own })
      return shown.server.status === 'BUILD' ? undefined : shown.server.status
    },
    STATE_MS,
  )
  expect(state).toBe('ACTIVE')
  await callApi(demo, { method: 'DELETE', path: own })
}

/** Two users boot and delete servers from before `work` until some time after it. Returns what failed. */
async function bootDuring(work: () => Promise<void>, image: string): Promise<readonly string[]> {
  let booted = 0
  let isOver = false
  let longestMs = 0
  const failures: string[] = []
  const boots = async () => {
    while (!isOver) {
      const begun = systemClock.elapsed()
      await bootAndDelete(image).catch((error: unknown) => failures.push(String(error)))
      longestMs = Math.max(longestMs, systemClock.elapsed() - begun)
      booted += 1
    }
  }
  const running = Promise.all([boots(), boots()])
  await waitFor('servers to be booted', () => booted >= BOOTS, STATE_MS)
  try {
    await work()
    const before = booted
    await waitFor('servers to be booted', () => booted >= before + 2 * BOOTS, STATE_MS)
  } finally {
    isOver = true
    await running
  }
  log.info({ booted, longestMs: Math.round(longestMs) }, 'longest boot and delete')
  return failures
}

/** From now on this process trusts the certificates that the first machine has. */
async function trustMachines(): Promise<void> {
  const caFile = join(network.directory, 'tls.crt')
  writeFileSync(caFile, await succeed(FIRST(), 'cat /etc/weir/tls.crt'))
  isTrusted?.[Symbol.dispose]()
  isTrusted = trust({ caFile, certificateFile: caFile, keyFile: '' })
}

/** As the page has the reader do it, on every machine. Returns the new certificate. */
async function replaceCertificate(): Promise<X509Certificate> {
  await succeed(FIRST(), REPLACE.create)
  const shared = '/var/lib/weir/images/next'
  await succeed(FIRST(), `mkdir ${shared} && cp -p /etc/weir/next.* ${shared}`)
  for (const machine of [SECOND(), THIRD()])
    await succeed(machine, `cp -p ${shared}/next.* /etc/weir/`)
  const next = new X509Certificate(await succeed(FIRST(), `cat ${shared}/next.crt`))
  await succeed(FIRST(), `rm -r ${shared}`)
  for (const machine of machines)
    for (const line of [REPLACE.trust, REPLACE.reload]) await succeed(machine, line)
  await succeed(cell, `cat > /run/next.crt <<'END'\n${next.toString()}END\n`)
  const home = '/var/lib/weir/home'
  await succeed(cell, `cd /run; ${REPLACE.cellTrust.replace('.weir', home)}`)
  await trustMachines()
  await systemClock.sleep(READ_AGAIN_MS)
  for (const machine of machines)
    for (const line of [REPLACE.use, REPLACE.reload]) await succeed(machine, line)
  for (const machine of machines) await expectServed(machine, next)
  for (const machine of machines)
    for (const line of [REPLACE.forget, REPLACE.reload]) await succeed(machine, line)
  await trustMachines()
  return next
}

async function expectServed(machine: Machine, certificate: X509Certificate): Promise<void> {
  for (const [port, protocol] of PORTS)
    await expect
      .poll(() => servedCertificate(machine.address, port, protocol), { message: `port ${port}` })
      .toBe(certificate.fingerprint256)
}

describe.skipIf(process.getuid?.() !== 0 || !isFullRun)('three machines', () => {
  beforeAll(async () => {
    network = new MachineNetwork()
    machines = [await network.add(11), await network.add(12), await network.add(13)]
    cell = await network.add(21)
    for (const machine of machines) await machine.share('/var/lib/weir/images')
    await typePage()
    await trustMachines()
  }, MADE_MS)

  afterAll(async () => {
    isTrusted?.[Symbol.dispose]()
    await network?.[Symbol.asyncDispose]()
  }, MADE_MS)

  let image = ''

  test('a server that is booted through the proxies is ACTIVE', async () => {
    const admin = await signInAs('admin')
    demo = await signInAs('demo')
    await ensureFlavors(admin)
    await ensureImage(admin, simulatedImage)
    const { images } = await callApi<{ images: readonly { id: string }[] }>(demo, {
      method: 'GET',
      path: '/image/v2/images',
    })
    image = images[0]!.id

    await bootAndDelete(image)
  })

  test('a backup is restored by the commands of its page', async () => {
    const directory = '--directory /var/backups/weir'
    const made = await succeed(
      FIRST(),
      `mkdir -p /var/backups/weir && ./weir backup run ${directory} --env-file /etc/weir/gateway.env`,
    )
    const name = /\d{4}-\d\d-\d\dT\d{6}Z/.exec(made)![0]
    const path = '/networking/v2.0/security-groups'
    const later = { security_group: { name: 'made after the backup' } }
    await callApi(demo, { method: 'POST', path, body: later })

    for (const machine of machines) await succeed(machine, RESTORE_LINES.stop)
    await succeed(FIRST(), RESTORE_LINES.restore.replace('NAME', name))
    for (const machine of machines) await succeed(machine, RESTORE_LINES.start)

    // All tokens are invalid, and the proxies have just found the gateways again.
    demo = await waitFor('a token', () => signInAs('demo').catch(() => undefined), STATE_MS)
    const { security_groups: groups } = await callApi<{
      security_groups: readonly { name: string }[]
    }>(demo, { method: 'GET', path })
    expect(groups.map((each) => each.name)).toEqual(['default'])
    await bootAndDelete(image)
  })

  test('the certificate of all services is replaced while servers are booted', async () => {
    let next: X509Certificate | undefined
    const failures = await bootDuring(async () => {
      next = await replaceCertificate()
    }, image)

    expect(failures).toEqual([])
    expect(await succeed(THIRD(), 'cat /etc/weir/tls.crt')).toBe(next?.toString())
    const seen = await succeed(FIRST(), `${ENVIRONMENT}; ./weir cell list`)
    expect(seen).toMatch(/north/)
  })

  test('the loss of the machine with the writer of the databases costs latency only', async () => {
    const failures = await bootDuring(async () => {
      await FIRST().save()
      await FIRST().lose()
    }, image)

    expect(failures).toEqual([])
    const status = await SECOND().type('./weir db status --env-file /etc/weir/gateway.env')
    expect(status.said).toMatch(/ down [^]*machine-[23] +writer/)
  })

  test('a machine that comes back catches up by itself', async () => {
    const back = await network.add(11)
    await back.share('/var/lib/weir/images')
    await succeed(back, START_ALL)

    const status = await succeed(SECOND(), './weir db status --env-file /etc/weir/gateway.env')
    expect(status).toMatch(/machine-1 +ready[^]*machine-[23] +writer/)
    await bootAndDelete(image)
    machines = [back, SECOND(), THIRD()]
  })

  test('databases that were all shut down begin again when all start', async () => {
    for (const machine of machines) await succeed(machine, 'systemctl stop weir-mariadb')
    const starting = machines.map((machine) => succeed(machine, 'systemctl start weir-mariadb'))

    await Promise.all(starting)
    const status = await succeed(SECOND(), './weir db status --env-file /etc/weir/gateway.env')
    expect(status).not.toMatch(/ (down|refused|receiving) /)
    await bootAndDelete(image)
  })
})
