import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { noun } from '#gateway/cli/noun.ts'
import {
  DEFAULT_DIRECTORIES,
  endpointUrl,
  FILES,
  type Folders,
  PORTS,
} from '../../control-plane/control-plane.ts'
import { readJoinTokenOption } from '../read-secret.ts'
import { progress, say } from '../say.ts'

const LIFETIME_MS = 3_600_000
const UNITS = 'weir-mariadb weir-nats weir-gateway weir-haproxy'

export interface FolderFlags {
  readonly directory: string
  readonly stateDirectory: string
}

interface InitFlags extends FolderFlags {
  readonly machines: string
  readonly endpoint?: string
  readonly databaseRootUrlFile?: string
  readonly set: readonly string[]
}

/** The commands for a control plane whose programs systemd runs, on one machine or several. */
export function addControlPlaneCommands(program: Command): void {
  addInitCommand(program)
  addGatewayCommands(program)
}

function addInitCommand(program: Command): void {
  const init = withExamples(
    program.command('init'),
    './weir init --machines 192.0.2.11,192.0.2.12,192.0.2.13 --endpoint cloud.example.org',
    './weir init --machines 192.0.2.11 --database-root-url-file root.url --set GATEWAY_REGION=North',
  )
    .description(
      'Create the settings and secrets of a control plane for the services of this machine; no service is started, and existing files are kept',
    )
    .requiredOption(
      '--machines <ips>',
      'Addresses of one, three or five machines, with commas between them, that of this machine first',
    )
    .option(
      '--endpoint <address>',
      `Address or name at which clients reach the proxies at port ${PORTS.proxy} (default: this machine)`,
    )
    .option(
      '--database-root-url-file <file>',
      'File with the URL of databases elsewhere, of an account that may create others (default: databases on the machines)',
    )
    .option(
      '--set <name=value>',
      'Set a setting GATEWAY_… of docs/reference/settings.md for all gateways',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
  withFolders(init).action(async (flags: InitFlags) => {
    const { initControlPlane } = await import('../../control-plane/init.ts')
    const folders = foldersOf(flags)
    const { databaseRootUrlFile: file } = flags
    const options = {
      machines: flags.machines.split(',').map((each) => each.trim()),
      endpoint: flags.endpoint,
      databaseRootUrl: file === undefined ? undefined : read(file),
      set: flags.set,
    }
    const plane = await initControlPlane(folders, options, say)
    say(`Clients reach it at ${endpointUrl(plane)}, with ${join(folders.directory, FILES.clouds)}.`)
    sayHowToStart(plane.hasDatabases)
  })
}

function addGatewayCommands(program: Command): void {
  const gateway = noun(program, 'gateway', 'Add machines with gateways to a control plane')
  withFolders(
    withExamples(gateway.command('admit <ip>'), './weir gateway admit 192.0.2.12').description(
      'Let another machine of the control plane fetch its settings and secrets; wait for it for up to an hour',
    ),
  ).action(async (address: string, flags: FolderFlags) => {
    const { admitMachine } = await import('../../control-plane/admit.ts')
    const options = { address, lifetimeMs: LIFETIME_MS }
    await using admission = await admitMachine(foldersOf(flags), options)
    progress(`On ${address}, run this with the token below in the file token:`)
    progress(`  ./weir gateway join --from ${admission.url} --token-file token`)
    say(admission.token)
    await admission.joined()
    progress(`${address} has its settings and secrets.`)
  })
  withFolders(
    withExamples(
      gateway.command('join'),
      './weir gateway join --from https://192.0.2.11:8445 --token-file token',
    )
      .description(
        'Add this machine to a control plane: fetch the settings and secrets of its services',
      )
      .requiredOption('--from <url>', 'URL that ./weir gateway admit prints')
      .option(
        '--token-file <file>',
        'File with the one-time token; - reads standard input (default: $WEIR_JOIN_TOKEN)',
      ),
  ).action(
    async ({
      from,
      tokenFile,
      ...flags
    }: FolderFlags & { readonly from: string; readonly tokenFile?: string }) => {
      const { joinControlPlane } = await import('../../control-plane/join.ts')
      const token = await readJoinTokenOption(tokenFile, process.env)
      const plane = await joinControlPlane(foldersOf(flags), { from, token }, say)
      sayHowToStart(plane.hasDatabases)
    },
  )
}

export function withFolders(command: Command): Command {
  return command
    .option(
      '--directory <directory>',
      'Directory of settings and secrets',
      DEFAULT_DIRECTORIES.directory,
    )
    .option('--state-directory <directory>', 'Directory of data', DEFAULT_DIRECTORIES.state)
}

export function foldersOf({ directory, stateDirectory: state }: FolderFlags): Folders {
  return { directory, state }
}

function sayHowToStart(hasDatabases: boolean): void {
  const units = hasDatabases ? UNITS : UNITS.replace('weir-mariadb ', '')
  say(`Start the services as docs/how-to/production.md says: systemctl enable --now ${units}`)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new Failure('invalid', `--database-root-url-file ${file} cannot be read.`, { cause })
  }
}
