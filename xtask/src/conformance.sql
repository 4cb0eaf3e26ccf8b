-- Whom the management operations are called as, and what they are called about: the owner of a workspace of their own, so
-- that nothing they change is the tracking operations'. Thrown away with the database. The ids are the ones in
-- schemathesis.toml; those that end in 1 may be ended.
INSERT INTO workspaces (id, name) OVERRIDING SYSTEM VALUE VALUES (1000, 'Conformance');
INSERT INTO users (id, kind, name, email, password_hash) OVERRIDING SYSTEM VALUE VALUES
    (1000, 'advertiser', 'Olive', 'olive@shop.example', 'of no password'),
    (1001, 'advertiser', 'Mika', 'mika@shop.example', 'of no password'),
    (1002, 'advertiser', 'Nils', 'nils@shop.example', 'of no password');
INSERT INTO workspace_members (id, workspace_id, user_id, role) OVERRIDING SYSTEM VALUE VALUES
    (1000, 1000, 1001, 'member'), (1001, 1000, 1002, 'member'), (1002, 1000, 1000, 'owner');
INSERT INTO programs (id, workspace_id, name, slug, api_token_hash, api_token_masked) OVERRIDING SYSTEM VALUE VALUES
    (1000, 1000, 'Changed', 'changed', sha256('1000'), 'aff_****'), (1001, 1000, 'Ended', 'ended', sha256('1001'), 'aff_****');
INSERT INTO partners (id, workspace_id, name, email) OVERRIDING SYSTEM VALUE VALUES
    (1000, 1000, 'Ada', 'ada@partner.example');
INSERT INTO partner_programs (id, program_id, partner_id) OVERRIDING SYSTEM VALUE VALUES (1000, 1000, 1000);
INSERT INTO referral_links (id, short_code, program_id, partner_id, partner_program_id) OVERRIDING SYSTEM VALUE VALUES
    (1000, 'conformance', 1000, 1000, 1000);
INSERT INTO management_keys (id, workspace_id, name, key_hash, prefix, key_masked, scopes, created_by)
    OVERRIDING SYSTEM VALUE VALUES
    (1000, 1000, 'Changed', sha256('1000'), 'affk_00000000', 'affk_000000…0000', '{*}', 1000),
    (1001, 1000, 'Ended', sha256('1001'), 'affk_00000000', 'affk_000000…0000', '{*}', 1000);
INSERT INTO sessions (user_id, kind, token_hash, created_at, expires_at)
    SELECT 1000, 'dashboard', sha256(convert_to(token, 'UTF8')), now(), now() + interval '1 day'
    FROM unnest(ARRAY[:'session', :'session_to_end']) AS token;
