import { request } from 'undici'
import { openNode } from '#common/db/open-node.ts'
import { errorChain } from '#common/errors.ts'
import { withDeadline } from '#common/with-deadline.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { processStates } from '../status/process-states.ts'
import { describeEndedProcesses, supervisionOf } from '../supervisor/supervision.ts'
import { busOf, databaseServersOf, writerOf } from '../up/services.ts'
import { examineFenceDevices } from './examine-fence-devices.ts'
import { examineStores } from './examine-stores.ts'
import { examineStuck } from './examine-stuck.ts'
import type { Finding } from './finding.ts'

const CONNECT_LIMIT_MS = 3_000

/** Whether every process runs, whether database, bus and gateways answer, whether operations wait for an operator, whether stores hold what no cell knows, and whether fence devices work. */
export async function examineDeployment(
  layout: Layout,
  state: DeploymentState,
): Promise<readonly Finding[]> {
  const databases = databaseServersOf(layout, state)
  const bus = busOf(layout, state)
  const { elsewhere } = state
  const probes: Promise<Finding>[] = state.gateways.map(({ name, port }) =>
    answers(`${name} at port ${port}`, () => askReady(port)),
  )
  if (databases !== undefined)
    probes.push(
      answers(named('MariaDB', elsewhere?.databases?.join(', ')), () =>
        withDeadline(CONNECT_LIMIT_MS, writerOf(databases).then(openAndClose)),
      ),
      examineStuck(state, (database) => databases.rootUrl(database)),
      examineStores(state.cells, (database) => databases.rootUrl(database)),
      examineFenceDevices(state.cells, (database) => databases.rootUrl(database)),
    )
  if (bus !== undefined)
    probes.push(
      answers(named('NATS', elsewhere?.bus?.url), async () =>
        (await connectSystem(bus.url, bus.keys.systemSeed)).close(),
      ),
    )
  return [await processes(layout, state), ...supervision(layout), ...(await Promise.all(probes))]
}

function named(service: string, servers: string | undefined): string {
  return servers === undefined ? service : `${service} at ${servers}`
}

async function processes(layout: Layout, state: DeploymentState): Promise<Finding> {
  const dead = (await processStates(layout, state)).filter(({ isAlive }) => !isAlive)
  if (dead.length === 0) return { is: 'ok', what: 'every process of the deployment runs' }
  const names = dead.map(({ name }) => name).join(', ')
  return { is: 'bad', what: `not running: ${names} (./weir up starts them)` }
}

function supervision(layout: Layout): readonly Finding[] {
  const { pid, endedProcesses } = supervisionOf(layout)
  if (pid === undefined)
    return [
      {
        is: 'bad',
        what: 'no supervisor runs, so processes that end are not restarted (./weir up starts one)',
      },
    ]
  const findings = describeEndedProcesses(endedProcesses).map((what, nth): Finding => {
    return { is: endedProcesses[nth]?.isDown === true ? 'bad' : 'note', what }
  })
  return [{ is: 'ok', what: 'a supervisor restarts processes that end' }, ...findings]
}

async function answers(who: string, probe: () => Promise<unknown>): Promise<Finding> {
  try {
    await probe()
    return { is: 'ok', what: `${who} answers` }
  } catch (error) {
    return { is: 'bad', what: `${who} does not answer: ${errorChain(error)}` }
  }
}

async function askReady(port: number): Promise<void> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`, {
    headersTimeout: CONNECT_LIMIT_MS,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`/readyz says ${statusCode}: ${text.slice(0, 200)}`)
}

async function openAndClose(url: string): Promise<void> {
  const connection = await openNode(url, CONNECT_LIMIT_MS)
  await connection.end()
}
