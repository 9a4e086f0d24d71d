import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

// Goal: lines are written together, and none is lost that a process wrote before it ended by itself.

const START = `
  import { createLogger } from '${import.meta.dirname}/log.ts'
  const [one, two] = [createLogger('one'), createLogger('two')]
  for (let n = 0; n < 3; n += 1) (n === 1 ? two : one).info({ n }, 'line')
`

function run(end: string) {
  return spawn(process.execPath, ['--input-type=module', '--eval', START + end], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

const linesIn = (output: string) =>
  output
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly n: number }).n)

test.each([
  ['ends', ''],
  ['exits', 'process.exit(3)'],
  ['breaks', "throw new Error('broken')"],
])(
  'all loggers of a process that %s at once have written their lines, in order',
  async (_, end) => {
    expect(linesIn(await text(run(end).stdout))).toEqual([0, 1, 2])
  },
)

test('a process that goes on writes its lines in a moment', async () => {
  const child = run('setInterval(() => {}, 60_000)')

  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk as string
    if (output.split('\n').length === 4) break
  }
  child.kill()

  expect(linesIn(output)).toEqual([0, 1, 2])
})
