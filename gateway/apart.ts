import { loadLightly } from '#common/load-lightly.ts'

// The program that a gateway begins for what may have ended a process: see `Apart`.

loadLightly()
const { runApart } = await import('./run-apart.ts')
await runApart(process.env)
