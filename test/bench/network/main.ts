import { writeFileSync } from 'node:fs'
import { interrupted, printLine, progress } from '../terminal.ts'
import { measureNetwork, type NetworkResults, type Times } from './measure-ovn.ts'
import { measureStart, type StartFigures } from './measure-start.ts'
import { parseOptions } from './options.ts'

const MS_PER_S = 1_000

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([measure(), interrupted()])
for (const line of report(results)) printLine(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)

async function measure() {
  progress('Starting OVN as ./weir up does ...')
  const starts = await measureStart()
  return { starts, ...(await measureNetwork(owned, options, progress)) }
}

function report({
  starts,
  networks,
  ports,
  plugged,
  all,
  ...one
}: NetworkResults & { readonly starts: readonly StartFigures[] }): readonly string[] {
  const seconds = (ms: number) => `${(ms / MS_PER_S).toFixed(2)} s`
  const times = ({ median, max }: Times) => `${median.toFixed(0)} ms, at most ${max.toFixed(0)} ms`
  return [
    ...starts.map(
      ({ cells, ms, memoryMiB }) =>
        `OVN of ${cells === 1 ? 'a cell' : `${cells} cells`} with two hosts starts in ${seconds(ms)} and takes ${memoryMiB.toFixed(0)} MiB`,
    ),
    `${networks} networks, ${ports} ports, ${plugged} of them plugged into each of two hosts`,
    `  all written      ${seconds(all.writtenMs)}`,
    `  plugged ones up  ${seconds(all.upMs)}`,
    `  all in force     ${seconds(all.inForceMs)}`,
    `  nothing differs  ${one.noChangeMs.toFixed(0)} ms`,
    `  one more port    ${times(one.onePort)} until it is up`,
    `  one more rule    ${times(one.oneRule)} until its packets pass on both hosts`,
  ]
}
