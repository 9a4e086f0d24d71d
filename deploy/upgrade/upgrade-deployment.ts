import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure } from '#common/errors.ts'
import { signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, existingState } from '../deployment/state.ts'
import { countStuckIn } from '../doctor/examine-stuck.ts'
import { projectRoot } from '../paths.ts'
import { isRunning } from '../process/process-identity.ts'
import type { Program } from '../processes/program.ts'
import { superviseDeployment } from '../supervisor/supervision.ts'
import { hasBootUnit, keepBootUnit } from '../systemd/boot-unit.ts'
import { endpointOf } from '../up/exposed.ts'
import { databaseServersOf } from '../up/services.ts'
import { startPrograms } from '../up/start-programs.ts'
import { bringUp } from '../up/up.ts'
import { databasesOf } from '../upkeep/deployment-source.ts'
import { backUp } from './back-up.ts'
import { checkUpgrade } from './check-upgrade.ts'
import { DeploymentPart } from './deployment-part.ts'
import type { HealthSource } from './health.ts'
import { assertNothingBad, type UpgradeOptions } from './options.ts'
import { planLines, rollOut } from './roll-out.ts'
import { type RunningCode, runningCode } from './running-code.ts'

type Report = (line: string) => void

/**
 * Afterwards every process of the deployment runs the release of this folder, its supervisor and its unit of `--boot`
 * included, and the databases have its tables. Throws `unavailable` at the first sign of trouble.
 */
export async function upgradeDeployment(
  layout: Layout,
  options: UpgradeOptions,
  report: Report,
): Promise<void> {
  const state = existingState(layout)
  if (!state.isReady)
    throw new Failure('invalid', 'The deployment was never finished. Finish it first: ./weir up')
  assertNothingBad(await checkUpgrade(layout, options.isBack), report)
  if (options.isDryRun) {
    for (const line of planLines(shownParts(layout, state), options.isBack)) report(line)
    return
  }
  await backUpFirst(layout, state, options, report)
  report('Migrating the databases, and preparing the new programs ...')
  const programs = await preparedPrograms(layout)
  const health = await healthOf(layout)
  await rollOut(
    {
      parts: programs.map((program) => new DeploymentPart(layout, program, health.admin)),
      health,
      isBack: options.isBack,
      watchMs: options.watchMs,
      howBack: howBack(layout, codesOf(state)),
    },
    report,
  )
  await superviseDeployment(layout)
  if (hasBootUnit(layout)) await keepBootUnit(layout)
}

/** For a plan, which starts nothing. */
function shownParts(layout: Layout, { processes }: DeploymentState): readonly DeploymentPart[] {
  return Object.keys(processes).map(
    (name) => new DeploymentPart(layout, { name, script: '', settings: {} }, undefined),
  )
}

/** An upgrade that goes on where it stopped has its backup. */
async function backUpFirst(
  layout: Layout,
  state: DeploymentState,
  { backupDirectory, isBack }: UpgradeOptions,
  report: Report,
): Promise<void> {
  const isBegun = codesOf(state).some(({ isThis }) => isThis)
  if (backupDirectory === false || isBack || isBegun) return
  const directory = resolve(backupDirectory ?? join(layout.home, 'backups'))
  await backUp(directory, databasesOf(layout, state), report)
}

/** Everything that the programs of this release need is there, and all of them run that ran before, of whichever release. */
async function preparedPrograms(layout: Layout): Promise<readonly Program[]> {
  const programs: Program[] = []
  await bringUp(
    layout,
    {},
    () => {},
    (_, state, some) => {
      programs.push(...some)
      const isDown = ({ name }: Program) => {
        const identity = state.processes[name]
        return identity === undefined || !isRunning(identity)
      }
      return startPrograms(layout, state, some.filter(isDown))
    },
  )
  return programs
}

/** What its processes run, as far as they run. */
function codesOf({ processes }: DeploymentState): readonly RunningCode[] {
  return Object.values(processes).flatMap((identity) =>
    isRunning(identity) ? (runningCode(identity.pid) ?? []) : [],
  )
}

function howBack({ home }: Layout, codes: readonly RunningCode[]): string {
  const command = './weir upgrade run --back'
  const former = codes.find(({ folder }) => folder !== realpathSync(projectRoot))
  return former === undefined
    ? `To return to the former release, put it into ${projectRoot} again and run: ${command}`
    : `To return to the former release: cd ${former.folder} && WEIR_HOME=${home} ${command}`
}

async function healthOf(layout: Layout): Promise<HealthSource> {
  const state = existingState(layout)
  const { gateways } = state
  const hasGateways = gateways.length > 0
  return {
    admin: hasGateways
      ? await signIn(endpointOf(state), cloudAccount(layout, 'weir-admin'))
      : undefined,
    gateways: gateways.map(({ port }) => `http://127.0.0.1:${port}`),
    countStuck: async () => {
      const databases = databaseServersOf(layout, state)
      return databases === undefined
        ? 0
        : countStuckIn(state, (database) => databases.rootUrl(database))
    },
  }
}
