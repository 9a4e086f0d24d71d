import { defineConfig } from 'drizzle-kit'

// drizzle-kit reads its configuration from a default export.
export default defineConfig({
  dialect: 'mysql',
  schema: './gateway/db/schema/*.ts',
  out: './gateway/db/migrations',
})
