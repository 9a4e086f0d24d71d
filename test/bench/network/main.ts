import { writeFileSync } from 'node:fs'
import { interrupted, progress, say } from '../terminal.ts'
import { measureNetwork, type NetworkResults, type Times } from './measure-ovn.ts'
import { parseOptions } from './options.ts'

const MS_PER_S = 1_000

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([measureNetwork(owned, options, progress), interrupted()])
for (const line of report(results)) say(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)

function report({ networks, ports, plugged, all, ...one }: NetworkResults): readonly string[] {
  const seconds = (ms: number) => `${(ms / MS_PER_S).toFixed(2)} s`
  const times = ({ median, max }: Times) => `${median.toFixed(0)} ms, at most ${max.toFixed(0)} ms`
  return [
    `${networks} networks, ${ports} ports, ${plugged} of them plugged into each of two hosts`,
    `  all written      ${seconds(all.writtenMs)}`,
    `  plugged ones up  ${seconds(all.upMs)}`,
    `  all in force     ${seconds(all.inForceMs)}`,
    `  nothing differs  ${one.noChangeMs.toFixed(0)} ms`,
    `  one more port    ${times(one.onePort)} until it is up`,
    `  one more rule    ${times(one.oneRule)} until its packets pass on both hosts`,
  ]
}
