import { type Command, Option } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { noun } from '#gateway/cli/noun.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { FORMATS, type Format } from '#gateway/cli/output/format.ts'
import { styleFor } from '#gateway/cli/output/style.ts'
import { fieldsView, type Listing, rendered } from '#gateway/cli/output/view.ts'
import type { StandbyStatus } from '../../standby/status.ts'
import { readJoinTokenOption } from '../read-secret.ts'
import { progress, say } from '../say.ts'
import { type FolderFlags, foldersOf, withFolders } from './control-plane.ts'

const LIFETIME_MS = 3_600_000

/** The commands for a second site, which follows the active one and can be promoted. */
export function addStandbyCommand(program: Command, operator: Operator): void {
  const standby = noun(program, 'standby', 'A second site that follows the active one')
  addPrepare(standby)
  addAdmit(standby)
  addJoin(standby)
  addFollow(standby)
  addStatus(standby, operator)
  addPromote(standby)
}

function addPrepare(standby: Command): void {
  withFolders(
    withExamples(standby.command('prepare'), './weir standby prepare --site north')
      .description(
        'Make the control plane of this machine the first of two sites; restart its services afterwards',
      )
      .requiredOption('--site <name>', 'Name of this site'),
  ).action(async ({ site, ...flags }: FolderFlags & { readonly site: string }) => {
    const { prepareSite } = await import('../../standby/prepare.ts')
    await prepareSite(foldersOf(flags), site, say)
    say(
      'Restart the services, on one machine after the other: systemctl restart weir-mariadb weir-gateway',
    )
  })
}

interface AdmitFlags extends FolderFlags {
  readonly site: string
  readonly machines: string
  readonly endpoint?: string
}

function addAdmit(standby: Command): void {
  withFolders(
    withExamples(
      standby.command('admit'),
      './weir standby admit --site south --machines 198.51.100.11',
    )
      .description(
        'Let the first machine of a second site fetch its settings and secrets; wait until it has, for an hour',
      )
      .requiredOption('--site <name>', 'Name of the second site')
      .requiredOption(
        '--machines <ips>',
        'Addresses of its machines, one, three or five, with commas between them',
      )
      .option(
        '--endpoint <address>',
        'Address or name at which clients reach its proxies (default: its first machine)',
      ),
  ).action(async ({ site: name, machines, endpoint, ...flags }: AdmitFlags) => {
    const { admitSite } = await import('../../standby/admit-site.ts')
    const addresses = machines.split(',').map((each) => each.trim())
    const options = { name, machines: addresses, endpoint, lifetimeMs: LIFETIME_MS }
    await using admission = await admitSite(foldersOf(flags), options)
    progress(`On ${addresses[0]}, run this with the token below in the file token:`)
    progress(`  ./weir standby join --from ${admission.url} --token-file token`)
    say(admission.token)
    await admission.joined()
    progress(`Site ${name} has its settings and secrets.`)
  })
}

interface JoinFlags extends FolderFlags {
  readonly from: string
  readonly tokenFile?: string
}

function addJoin(standby: Command): void {
  withFolders(
    withExamples(
      standby.command('join'),
      './weir standby join --from https://192.0.2.11:8445 --token-file token',
    )
      .description('Make this machine the first of a second site: fetch its settings and secrets')
      .requiredOption('--from <url>', 'URL that ./weir standby admit prints')
      .option(
        '--token-file <file>',
        'File with the one-time token; - reads standard input (default: $WEIR_JOIN_TOKEN)',
      ),
  ).action(async ({ from, tokenFile, ...flags }: JoinFlags) => {
    const { joinAsSite } = await import('../../standby/join-site.ts')
    const token = await readJoinTokenOption(tokenFile, process.env)
    await joinAsSite(foldersOf(flags), { from, token }, say)
    say('Start the database and the bus: systemctl enable --now weir-mariadb weir-nats')
    say('Then copy the database of the active site: ./weir standby follow')
  })
}

function addFollow(standby: Command): void {
  withFolders(
    withExamples(standby.command('follow'), './weir standby follow').description(
      'Copy the database of the active site and follow it from then on; what this site alone has is lost',
    ),
  ).action(async (flags: FolderFlags) => {
    const { followActiveSite } = await import('../../standby/follow.ts')
    const { existingSite, ownSite } = await import('../../control-plane/site-files.ts')
    const folders = foldersOf(flags)
    const { site, source, isCopied } = await followActiveSite(
      ownSite(folders),
      existingSite(folders).sites,
      progress,
    )
    const what = isCopied ? 'was copied, and follows' : 'follows'
    say(`The database ${what} that of site ${site.name} at ${source}.`)
  })
}

const FIELDS: Listing<StandbyStatus> = {
  columns: [
    { head: 'SITE', of: ({ site }) => site },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'GENERATION', of: ({ generation }) => generation },
    {
      head: 'SITES',
      of: ({ sites }) =>
        sites.map(({ name, url, says }) => `${name} at ${url}: ${says}`).join('; '),
    },
    { head: 'FOLLOWS', of: ({ replication }) => replication?.source ?? null },
    { head: 'CONNECTED', of: ({ replication }) => replication?.isConnected ?? null },
    { head: 'LAG SECONDS', of: ({ replication }) => replication?.lagS ?? null },
    { head: 'LAG TRANSACTIONS', of: ({ replication }) => replication?.lagTransactions ?? null },
    { head: 'ERROR', of: ({ replication }) => replication?.error ?? null },
    { head: 'CAN BE PROMOTED', of: ({ obstacle }) => obstacle ?? 'yes' },
  ],
  nameOf: ({ site }) => site,
  plural: 'sites',
}

function addStatus(standby: Command, operator: Operator): void {
  const format = new Option('-o, --output <format>', 'Output format')
  withFolders(
    withExamples(standby.command('status'), './weir standby status')
      .description(
        'Show how far this site is behind the active one; exit with 1 where it is neither active nor could be promoted',
      )
      .addOption(format.choices([...FORMATS]).default('table')),
  ).action(async ({ output, ...flags }: FolderFlags & { readonly output: Format }) => {
    const { standbyStatus } = await import('../../standby/status.ts')
    const { ownSite } = await import('../../control-plane/site-files.ts')
    const status = await standbyStatus(ownSite(foldersOf(flags)))
    const style = styleFor(operator.out, operator.env)
    operator.out.write(await rendered(fieldsView(status, FIELDS), output, style))
    if (status.state !== 'active' && status.obstacle !== null) operator.endsAs('failed')
  })
}

interface PromoteFlags extends FolderFlags {
  readonly stopped?: string
  readonly abandonChanges?: true
}

function addPromote(standby: Command): void {
  withFolders(
    withExamples(
      standby.command('promote'),
      './weir standby promote',
      "./weir standby promote --stopped 'its power was cut at 12:04'",
    )
      .description('Make this site the active one, with all changes that it has received')
      .option(
        '--stopped <how>',
        'Statement of how the active site was stopped, needed while it still answers; it is recorded, not checked',
      )
      .option(
        '--abandon-changes',
        'Confirm: changes made at another site since this one stepped down are lost',
      ),
  ).action(async ({ stopped, abandonChanges, ...flags }: PromoteFlags) => {
    const { promoteSite } = await import('../../standby/promote.ts')
    const { ownSite } = await import('../../control-plane/site-files.ts')
    const options = { stopped, abandonsChanges: abandonChanges }
    const { site, generation } = await promoteSite(ownSite(foldersOf(flags)), options)
    say(
      `Site ${site.name} is active, in generation ${generation}. Clients reach it at ${site.url}.`,
    )
  })
}
