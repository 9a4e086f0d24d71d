import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { SeededRandom } from '#test/env/random.ts'
import { compare } from './comparison/compare.ts'
import { untilQuiet } from './comparison/quiet.ts'
import type { Snapshot } from './comparison/snapshot.ts'
import { takeSnapshot } from './comparison/take-snapshot.ts'
import { type Deployment, startDeployment } from './deployment/deployment.ts'
import { whenServing } from './faults/recovery.ts'
import { runRounds } from './faults/rounds.ts'
import { type Figures, figuresOf, type Run } from './figures.ts'
import type { Options } from './options.ts'
import { RunRecord } from './record/record.ts'
import { describeWrong } from './report.ts'
import { ask, type SignedIn, signIn } from './users/account.ts'
import { type Crowd, ownRandom, useUntil } from './users/crowd.ts'
import { Administrator } from './users/identity-steps.ts'
import { findAssets, makeProjects } from './users/project.ts'
import { Session, type Setting } from './users/session.ts'

export interface Outcome {
  readonly figures: Figures
  /** The violations, as text; empty when there are none. */
  readonly problems: readonly string[]
}

const MS_PER_MINUTE = 60_000
const HOSTS = 4
const START_LIMIT_MS = 60_000

/** Runs a deployment in a folder under users and faults, and compares in the end. */
export async function run(
  options: Options,
  folder: string,
  progress: (line: string) => void,
): Promise<Outcome> {
  const { seed, minutes } = options
  const deployment = await startDeployment(folder, progress)
  // The database's disk goes with the run, also where that fails.
  using kept = new DisposableStack()
  kept.defer(() => copyFileSync(deployment.databaseLog, join(folder, 'logs', 'mariadb.log')))
  using record = new RunRecord(join(folder, 'requests.jsonl'))
  const setting = { gateways: deployment.gateways, record, random: new SeededRandom(seed) }
  const people = await settle(deployment, setting, options.projects)
  progress(`Using it for ${minutes} minutes while things go wrong (seed ${seed}) ...`)
  const untilMs = performance.now() + minutes * MS_PER_MINUTE
  const isOver = () => performance.now() >= untilMs
  const { recovered } = people
  const [faults] = await Promise.all([
    runRounds({ deployment, random: ownRandom(setting), isOver, recovered, progress }),
    useUntil(people.crowd, setting, isOver),
  ])
  keep(folder, { faults })
  progress('Waiting until nothing goes on ...')
  await recovered(AbortSignal.timeout(START_LIMIT_MS))
  const { snapshot, quietMs } = await untilQuiet(deployment, () => takeAll(deployment, people))
  progress('Comparing ...')
  const wrong = compare(snapshot, record)
  const endedByThemselves = deployment.members.reduce((sum, each) => sum + each.endedByItself, 0)
  keep(folder, { wrong, snapshot })
  const done: Run = { seed, minutes, record, faults, snapshot, wrong, endedByThemselves, quietMs }
  return { figures: figuresOf(done), problems: describeWrong(wrong, record.entries) }
}

/** With tokens of now: those of the run may be over. */
async function takeAll(deployment: Deployment, { admin, crowd }: People): Promise<Snapshot> {
  const { port } = deployment.gateways[0]!
  const users = crowd.projects.flatMap((project) => project.users)
  return takeSnapshot(deployment, {
    admin: await signIn(port, admin),
    users: await Promise.all(users.map((user) => signIn(port, user))),
  })
}

/** One file each, beside the requests, for a reader who looks into a failure. */
function keep(folder: string, findings: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(findings))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(value, null, 1))
}

interface People {
  readonly admin: SignedIn
  readonly crowd: Crowd
  readonly recovered: (signal: AbortSignal) => Promise<void>
}

/** Waits until all serves, and makes projects and their users. */
async function settle(deployment: Deployment, setting: Setting, count: number): Promise<People> {
  const { port } = deployment.gateways[0]!
  const admin = await untilSignedIn(deployment)
  const assets = await findAssets(port, admin)
  const projects = await makeProjects(port, admin, count)
  const [prober] = await makeProjects(port, admin, 1, 'probe')
  const { roles } = await ask<{ roles: readonly { id: string }[] }>(port, admin, [
    'GET',
    '/identity/v3/roles?name=member',
  ])
  const ids = projects.map(({ id }) => id)
  const session = new Session({ ...setting, random: ownRandom(setting) }, admin)
  const administrator = new Administrator(session, ids, roles[0]!.id)
  const probe = {
    admin: session,
    actor: {
      session: new Session({ ...setting, random: ownRandom(setting) }, prober!.users[0]!),
      project: prober!,
      assets,
    },
    gateways: deployment.gateways,
    zones: deployment.databases.cells.map(({ name }) => name),
    hosts: HOSTS,
  }
  const recovered = (signal: AbortSignal) => whenServing(probe, signal)
  await recovered(AbortSignal.timeout(START_LIMIT_MS))
  return { admin, crowd: { projects, assets, administrator }, recovered }
}

async function untilSignedIn({ gateways, admin }: Deployment): Promise<SignedIn> {
  const endMs = performance.now() + START_LIMIT_MS
  for (;;) {
    try {
      return await signIn(gateways[0]!.port, admin)
    } catch (error) {
      if (performance.now() > endMs) throw error
    }
  }
}
