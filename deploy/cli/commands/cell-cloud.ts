import { type Command, InvalidArgumentError } from 'commander'
import { Failure } from '#common/errors.ts'
import type { Finding } from '#drivers/nested/verify/finding.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import type { Session } from '../../api/session.ts'
import { cloudAccount } from '../../deployment/clouds-file.ts'
import { type Layout, layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { existingState, loadState } from '../../deployment/state.ts'
import type { CloudEntry } from '../../nested/cloud-entry.ts'
import { progress, say } from '../say.ts'

export interface CloudFlags {
  readonly cloud: string
  /** Of the driver `nested`, by name. */
  readonly set: Readonly<Record<string, string>>
  /** Each `kind:ours=theirs`. */
  readonly map: readonly string[]
}

/** Commands about cells that are projects of other clouds. */
export function addCloudCommands(cell: Command, operator: Operator): void {
  withExamples(
    withMaps(withSettings(cell.command('verify [name]'))),
    './weir cell verify',
    './weir cell verify north',
    './weir cell verify --cloud lab --set projects=any',
    './weir cell verify lab --boot',
  )
    .description(
      'Test the tunnels between the hosts of all cells, or check a cell, or whether a cloud of clouds.yaml can be one',
    )
    .option('--cloud <name>', 'Entry of clouds.yaml')
    .option('--boot', 'Build a server of the smallest flavor in the cell, and delete it')
    .action((name: string | undefined, flags: VerifyFlags) => verify(operator, name, flags))
  withExamples(
    cell.command('login <name>').requiredOption('--cloud <name>', 'Entry of clouds.yaml'),
    './weir cell login lab --cloud lab-new',
  )
    .description('Replace the credential of a nested cell with the one in clouds.yaml')
    .action(async (name: string, { cloud }: Pick<CloudFlags, 'cloud'>) => {
      const { writeLogin } = await import('../../nested/cloud-login.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const known = existingState(layout).cells.find((each) => each.name === name)
      if (known?.cloud === undefined)
        throw new Failure(
          'not-found',
          `There is no nested cell ${name} here. See: ./weir cell list`,
        )
      const { login } = await entryOf(operator, { cloud, set: {}, map: [] })
      const { refuseOtherProject } = await import('../../nested/same-project.ts')
      await refuseOtherProject(layout, known, login)
      await verified(layout, { login, settings: known.cloud.settings }, name)
      await writeLogin(layout, name, login)
      say(
        `Cell ${name} uses the new credential from its next login on. Delete the former one after that.`,
      )
    })
}

interface VerifyFlags extends Pick<CloudFlags, 'set' | 'map'> {
  readonly cloud?: string
  readonly boot?: true
}

async function verify(
  operator: Operator,
  name: string | undefined,
  { cloud, set, map, boot }: VerifyFlags,
): Promise<void> {
  const layout = layoutIn()
  if ((name !== undefined && cloud !== undefined) || (name === undefined && boot === true))
    throw new Failure(
      'invalid',
      'Name a cell, with or without --boot, or --cloud to check a cloud. See: ./weir cell verify --help',
    )
  if (name === undefined && cloud === undefined) return tunnels(operator, undefined)
  if (name === undefined) {
    const entry = await entryOf(operator, { cloud: cloud ?? '', set, map })
    return verified(layout, await known(layout, entry))
  }
  const { cloudSettings } = await import('../../nested/cloud-login.ts')
  const { verifyBoot } = await import('../../nested/verify-boot.ts')
  const cell = loadState(layout)?.cells.find((each) => each.name === name)
  const settings = cell === undefined ? undefined : cloudSettings(layout, cell)
  if (cell !== undefined && settings !== undefined) {
    await verified(layout, { login: {}, settings }, name)
    const { refuseOtherProject } = await import('../../nested/same-project.ts')
    await refuseOtherProject(layout, cell, settings)
  } else if (boot !== true) return tunnels(operator, name)
  if (boot === true) sayAll(await verifyBoot(await administrator(layout), name))
}

async function tunnels(operator: Operator, name: string | undefined): Promise<void> {
  const { verifyTunnels } = await import('#gateway/cli/cells/verify-tunnels.ts')
  await verifyTunnels(operator, name)
}

/** Afterwards a project of the cloud is a cell, if it was found to be able to. */
export async function joinNested(
  operator: Operator,
  name: string,
  flags: CloudFlags,
): Promise<void> {
  const { joinCloud } = await import('../../nested/join-cloud.ts')
  const layout = layoutIn()
  using _lock = lockDeployment(layout)
  const entry = await known(layout, await entryOf(operator, flags))
  await verified(layout, entry)
  await joinCloud(layout, name, entry, progress)
  say(`Cell ${name} takes servers. What it has: ./weir cell show ${name}`)
}

export function withSettings(command: Command): Command {
  return command.option(
    '--set <name=value>',
    'Set a setting of the driver; may be repeated',
    setting,
    {},
  )
}

export function withMaps(command: Command): Command {
  return command.option(
    '--map <kind:ours=theirs>',
    'Map a flavor, image or network to one of the cloud; may be repeated',
    (pair: string, before: readonly string[]) => [...before, pair],
    [],
  )
}

function setting(
  pair: string,
  before: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const at = pair.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write it as name=value.')
  return { ...before, [pair.slice(0, at)]: pair.slice(at + 1) }
}

async function entryOf(operator: Operator, { cloud, set, map }: CloudFlags): Promise<CloudEntry> {
  const { knownClouds } = await import('#gateway/cli/cloud/clouds-file.ts')
  const { cloudEntry } = await import('../../nested/cloud-entry.ts')
  const { mapped } = await import('../../nested/mapped.ts')
  const clouds = knownClouds(operator)
  const entry = clouds[cloud]
  if (entry === undefined)
    throw new Failure(
      'not-found',
      `clouds.yaml has no cloud ${cloud}. It has: ${Object.keys(clouds).join(', ')}`,
    )
  const { login, settings } = cloudEntry(entry)
  return { login, settings: mapped({ ...settings, ...set }, map) }
}

/** The entry with all of ours that it maps by their ids. */
async function known(layout: Layout, { login, settings }: CloudEntry): Promise<CloudEntry> {
  const { withOurIds } = await import('../../nested/mapped.ts')
  return { login, settings: await withOurIds(await administrator(layout), settings) }
}

async function verified(layout: Layout, entry: CloudEntry, cellName?: string): Promise<void> {
  const { verifyEntry } = await import('../../nested/verify-entry.ts')
  sayAll(await verifyEntry(await administrator(layout), entry, cellName))
}

async function administrator(layout: Layout): Promise<Session> {
  const { signIn } = await import('../../api/session.ts')
  const { endpointOf } = await import('../../up/exposed.ts')
  return signIn(endpointOf(existingState(layout)), cloudAccount(layout, 'weir-admin'))
}

/** Says what was found; throws `conflict` where something does not work. */
function sayAll(findings: readonly Finding[]): void {
  for (const { check, result, detail } of findings)
    say(`${result.padEnd(8)} ${check.padEnd(11)} ${detail}`)
  if (findings.some(({ result }) => result === 'failed'))
    throw new Failure(
      'conflict',
      'The cloud cannot be a cell: see the failed checks. The checks left nothing there.',
    )
}
