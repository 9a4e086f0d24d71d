import { writeFileSync } from 'node:fs'
import { interrupted, printLine, progress } from '../terminal.ts'
import { measureFederation } from './measure-federation.ts'
import { parseOptions } from './options.ts'
import { report } from './report.ts'

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([measureFederation(owned, options, progress), interrupted()])
for (const line of report(results)) printLine(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
