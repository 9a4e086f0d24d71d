import { type Command, InvalidArgumentError } from 'commander'
import { Failure } from '#common/errors.ts'
import type { Finding } from '#drivers/nested/verify/finding.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { cloudAccount } from '../../deployment/clouds-file.ts'
import { type Layout, layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { existingState } from '../../deployment/state.ts'
import type { CloudEntry } from '../../nested/cloud-entry.ts'
import { progress, say } from '../say.ts'

export interface CloudFlags {
  readonly cloud: string
  /** Of the driver `nested`, by name. */
  readonly set: Readonly<Record<string, string>>
}

/** Commands about cells that are projects of other clouds. */
export function addCloudCommands(cell: Command, operator: Operator): void {
  withExamples(
    withCloud(cell.command('verify')),
    './weir cell verify --cloud lab --set projects=any',
  )
    .description('look whether a cloud of clouds.yaml can be a cell, and make nothing')
    .action(async (flags: CloudFlags) => {
      await verified(layoutIn(), await entryOf(operator, flags))
    })
  withExamples(
    withCloud(cell.command('login').argument('<name>')),
    './weir cell login lab --cloud lab-new',
  )
    .description('let a cell log in to its cloud with what clouds.yaml says now')
    .action(async (name: string, flags: CloudFlags) => {
      const { writeLogin } = await import('../../nested/cloud-login.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const known = existingState(layout).cells.find((each) => each.name === name)
      if (known?.cloud === undefined)
        throw new Failure('not-found', `There is no cell ${name} that is a cloud of clouds.yaml.`)
      const { login } = await entryOf(operator, flags)
      await verified(layout, { login, settings: known.cloud.settings })
      await writeLogin(layout, name, login)
      say(`Cell ${name} uses it from its next login on. Its former one may go when that has been.`)
    })
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
  const entry = await entryOf(operator, flags)
  await verified(layout, entry)
  await joinCloud(layout, name, entry, progress)
  say(`Cell ${name} takes servers. What it has: ./weir cell show ${name}`)
}

function withCloud(command: Command): Command {
  return withSettings(command.requiredOption('--cloud <name>', 'the entry of clouds.yaml'))
}

export function withSettings(command: Command): Command {
  return command.option(
    '--set <name=value>',
    'a setting of the driver nested; may be repeated',
    setting,
    {},
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

async function entryOf(operator: Operator, { cloud, set }: CloudFlags): Promise<CloudEntry> {
  const { knownClouds } = await import('#gateway/cli/cloud/clouds-file.ts')
  const { cloudEntry } = await import('../../nested/cloud-entry.ts')
  const clouds = knownClouds(operator)
  const entry = clouds[cloud]
  if (entry === undefined)
    throw new Failure(
      'not-found',
      `clouds.yaml has no cloud ${cloud}. It has: ${Object.keys(clouds).join(', ')}`,
    )
  const { login, settings } = cloudEntry(entry)
  return { login, settings: { ...settings, ...set } }
}

/** Says what was found; throws `conflict` when the cloud cannot be a cell. */
async function verified(layout: Layout, entry: CloudEntry): Promise<void> {
  const { signIn } = await import('../../api/session.ts')
  const { endpointOf } = await import('../../up/endpoint.ts')
  const { verifyEntry } = await import('../../nested/verify-entry.ts')
  const endpoint = endpointOf(existingState(layout))
  const admin = await signIn(endpoint, cloudAccount(layout, 'weir-admin'))
  const findings = await verifyEntry(admin, entry)
  for (const finding of findings) say(lineOf(finding))
  if (findings.some(({ result }) => result === 'failed'))
    throw new Failure('conflict', 'The cloud cannot be a cell as it is. Nothing was made.')
}

function lineOf({ check, result, detail }: Finding): string {
  return `${result.padEnd(8)} ${check.padEnd(11)} ${detail}`
}
