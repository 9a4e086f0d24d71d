import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUser } from '@nats-io/nkeys'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '#deploy/api/session.ts'
import { exchangeToken } from '#deploy/join/exchange-token.ts'
import { eventSubject } from '#openapi/wire.ts'
import { Checkout, tokenFile } from '#test/env/checkout.ts'
import { type Product, SERVERS } from '../product.ts'
import { requestBytes } from '../request.ts'
import { type Probe, type ProbeFigures, probeDuring } from './probe.ts'

/** What others notice, of the gateway's own and of what it asks a host in another cell. */
export interface Noticed {
  readonly read: ProbeFigures
  readonly asked: ProbeFigures
}

export interface JoinFigures {
  /** From the command to where a server could go there, in milliseconds. */
  readonly schedulableMs: number
  /** The same from its first heartbeat. */
  readonly afterFirstBeatMs: number
  /** Of another cell's server, before, while credentials are given to cells that never come, and while one joins. */
  readonly before: Noticed
  readonly whileLetIn: Noticed
  readonly whileJoining: Noticed
  /** While one joins whose processes get only what CPU the others leave: as near to another machine as one comes. */
  readonly whileJoiningElsewhere: Noticed
}

const QUIET_MS = 10_000
const LET_IN = 5
const LET_IN_EVERY_MS = 1_000
const HOSTS = 2
const EVERY_MS = 10
const LIMIT_MS = 180_000

/** What the command, and all that it starts, is started by. */
const ELSEWHERE = ['nice', '-n', '19'] as const

/** Two more cells join, by the command, while others are asked. `serverId` is in another cell. */
export async function joinOneMore(
  owned: AsyncDisposableStack,
  product: Product,
  who: { readonly admin: Session; readonly member: Session; readonly serverId: string },
): Promise<JoinFigures> {
  const { admin } = who
  const notice = noticing(product, who)
  const before = await notice(sleep(QUIET_MS))
  const whileLetIn = await notice(letIn(admin))
  const joining = joinCell(owned.use(new Checkout()), product, admin, 'one-more')
  const whileJoining = await notice(joining)
  await sleep(QUIET_MS)
  const elsewhere = joinCell(owned.use(new Checkout(ELSEWHERE)), product, admin, 'elsewhere')
  const whileJoiningElsewhere = await notice(elsewhere)
  return { ...(await joining), before, whileLetIn, whileJoining, whileJoiningElsewhere }
}

function noticing(
  { origin, requests }: Product,
  { member, serverId }: { readonly member: Session; readonly serverId: string },
): (during: Promise<unknown>) => Promise<Noticed> {
  const probe = (request: Buffer): Probe => ({ origin, request, everyMs: EVERY_MS })
  const asked = requestBytes({
    method: 'POST',
    path: `${SERVERS}/${serverId}/action`,
    headers: { 'X-Auth-Token': member.token },
    body: { 'os-getConsoleOutput': { length: 10 } },
  })
  return async (during) => {
    const probing = Promise.all([
      probeDuring(probe(requests.one), during),
      probeDuring(probe(asked), during),
    ])
    // Whichever fails, what was begun comes to its end first: it is to be undone next.
    await Promise.allSettled([probing, during])
    const [read, answered] = await probing
    return { read, asked: answered }
  }
}

/** Accounts are made and told to the bus, and nothing is started for them. */
async function letIn(admin: Session): Promise<void> {
  for (let nth = 1; nth <= LET_IN; nth += 1) {
    const { token, gateway } = await makeToken(admin, `absent-${nth}`)
    await exchangeToken(gateway, token, createUser().getPublicKey())
    await sleep(LET_IN_EVERY_MS)
  }
}

interface Token {
  readonly token: string
  readonly cellId: string
  readonly gateway: string
}

async function makeToken(admin: Session, cell: string): Promise<Token> {
  interface Made {
    readonly token: string
    readonly join_token: { readonly cell_id: string; readonly gateway: string }
  }
  const { token, join_token } = await callApi<Made>(admin, {
    method: 'POST',
    path: '/federation/v1/tokens',
    body: { cell },
  })
  return { token, cellId: join_token.cell_id, gateway: join_token.gateway }
}

async function joinCell(
  checkout: Checkout,
  product: Product,
  admin: Session,
  cell: string,
): Promise<Pick<JoinFigures, 'schedulableMs' | 'afterFirstBeatMs'>> {
  const { token, cellId, gateway } = await makeToken(admin, cell)
  const credentialsFile = join(product.layout.secrets, 'gateway.creds')
  const log = createLogger('bench', 'error')
  const bus = await connectBus({ url: product.nats.url, credentialsFile, name: 'bench' }, log)
  const beat = new Promise<number>((resolve) => {
    bus.subscribe(eventSubject('*', 'heartbeat'), {
      callback: (_error, { subject }) => {
        if (subject.includes(cellId)) resolve(performance.now())
      },
    })
  })
  await bus.flush()
  const startedAt = performance.now()
  const size = ['--driver', 'fake', '--hosts', String(HOSTS)]
  const command = checkout.succeed(
    'cell',
    'join',
    '--gateway',
    gateway,
    '--token-file',
    tokenFile(token),
    ...size,
  )
  try {
    const ready = waitFor(`${cell} to take servers`, () => takesServers(admin, cell), LIMIT_MS)
    const [schedulableAt] = await Promise.all([ready.then(() => performance.now()), command])
    return {
      schedulableMs: schedulableAt - startedAt,
      afterFirstBeatMs: schedulableAt - (await beat),
    }
  } finally {
    await command.catch(() => {})
    await bus.close()
  }
}

async function takesServers(admin: Session, cell: string): Promise<boolean> {
  const { is_alive, summary } = await callApi<{
    readonly is_alive: boolean
    readonly summary: { readonly hosts_up: number } | null
  }>(admin, { method: 'GET', path: `/federation/v1/cells/${cell}` })
  return is_alive && summary?.hosts_up === HOSTS
}
