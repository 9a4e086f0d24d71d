import { loadLightly } from '#common/load-lightly.ts'

// The program that a process of a cell begins for what may have ended one: see `Apart`.

loadLightly()
const { runApart } = await import('./run-apart.ts')
await runApart(process.env)
