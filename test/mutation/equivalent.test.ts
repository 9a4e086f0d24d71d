import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#deploy/paths.ts'
import { EQUIVALENT } from './equivalent.ts'

// Goal: what is said of a mutant is said of the code as it is: a line that has changed has other mutants.

const linesOf = (file: string) =>
  readFileSync(join(projectRoot, file), 'utf8')
    .split('\n')
    .map((line) => line.trim())

test('each equivalent mutant is of a line that stands in its file', () => {
  const stale = EQUIVALENT.filter(({ file, line }) => !linesOf(file).includes(line))

  expect(stale).toEqual([])
})
