import { type Command, Option } from 'commander'
import { seconds } from './option-values.ts'
import { FORMATS } from './output/format.ts'

const EVERY_S = 2

/** Adds the options that select the cloud. */
export function withCloud(command: Command): Command {
  return command
    .option('--os-cloud <name>', 'Entry of clouds.yaml (OS_CLOUD)')
    .option('--os-region-name <name>', 'Region (OS_REGION_NAME)')
    .option('--os-cacert <file>', 'CA bundle that verifies the endpoint (OS_CACERT)')
    .option('--insecure', 'Do not verify TLS certificates (OS_INSECURE)')
}

/** Adds the options for the output and the cloud. */
export function withView(command: Command): Command {
  const format = new Option('-o, --output <format>', 'Output format')
  return withCloud(command.addOption(format.choices([...FORMATS]).default('table')))
}

/** Adds that it may be looked at again and again. */
export function withWatch(command: Command): Command {
  return command
    .option('-w, --watch', 'Refresh the output until interrupted')
    .option('--every <seconds>', 'Seconds between refreshes, with --watch', seconds, EVERY_S)
}
